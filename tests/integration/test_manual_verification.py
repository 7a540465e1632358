"""Sections 6 and 8 of testing.md, typed line by line against a real daemon."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.running import RunningDaemon
from tests.sources import ROOT

TESTING = (ROOT / "testing.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LOOKS = ("forgetd status", "forgetd list")
SETTLED_AFTER_SECONDS_MAX = 30.0
COMMAND_SECONDS_MAX = 60.0


@dataclass
class Step:
    """A line that is typed, and the lines to look for in what it prints."""

    command: str
    shown: list[str] = field(default_factory=list[str])


def blocks(language: str, *sections: int) -> Iterator[str]:
    """The code blocks in a language, of these sections of testing.md."""
    for number in sections:
        section = re.search(rf"^## {number} .*?(?=^## )", TESTING, re.MULTILINE | re.DOTALL)
        assert section is not None
        for found, block in FENCE.findall(section[0]):
            if found == language:
                yield block


def steps() -> Iterator[Step]:
    """Everything that is typed, in order."""
    for block in blocks("console", 6, 8):
        found: list[Step] = []
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append(Step(line.removeprefix("$ ")))
            else:
                found[-1].shown.append(line)
        yield from found


class Shell:
    """Types commands. PLAN and RUN stand for what was shown in their place last."""

    def __init__(self, daemon: RunningDaemon) -> None:
        (setup,) = blocks("sh", 6)
        self._functions = "\n".join(
            line for line in setup.splitlines() if re.match(r"\w+\(\)", line)
        )
        assert self._functions, "the block that prepares the shell defines facts"
        self._known: dict[str, str] = {}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environ = {**os.environ, "PATH": path, "FORGETD_SOCKET": str(daemon.socket)}

    def carry_out(self, step: Step) -> None:
        """Type the command; the lines to look for must come. A look is repeated until they do."""
        give_up_at = time.monotonic() + SETTLED_AFTER_SECONDS_MAX
        while (missing := self._missing(step)) is not None:
            waits = step.command.startswith(LOOKS) and time.monotonic() < give_up_at
            assert waits, f"$ {step.command}\n{missing}"
            time.sleep(0.05)

    def _missing(self, step: Step) -> str | None:
        command = step.command
        for name, value in self._known.items():
            command = re.sub(rf"\b{name}\b", value, command)
        done = subprocess.run(
            ["bash", "-c", f"{self._functions}\n{command}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self._environ,
            timeout=COMMAND_SECONDS_MAX,
            check=False,
        )
        printed = done.stdout.decode()
        refused = any(line.strip().startswith("next:") for line in step.shown)
        if (done.returncode != 0) != refused:
            return f"ended with {done.returncode}:\n{printed}"
        lines = iter(printed.splitlines())
        for wanted in step.shown:
            pattern = pattern_of(wanted)
            found = next((match for line in lines if (match := pattern.match(line.strip()))), None)
            if found is None:
                return f"not shown: {wanted}\nbut:\n{printed}"
            self._known |= found.groupdict()
        return None


def pattern_of(wanted: str) -> re.Pattern[str]:
    """A line to look for: spaces count as one, `...` is anything, more may follow."""
    words = re.sub(r"\s+", " ", wanted.strip())
    text = re.escape(words).replace(r"\.\.\.", ".*").replace(r"\ ", r"\s+")
    text = re.sub(r"\\s\+\.\*\\s\+", r"\\s.*", text)
    return re.compile(re.sub(r"\b(PLAN|RUN)\b", r"(?P<\1>[\\w-]+)", text))


@pytest.mark.gate("DOC-09")
def test_what_is_typed_by_hand_shows_what_is_written_down(
    start: Callable[..., RunningDaemon],
) -> None:
    shell = Shell(start("--allow-injected-clock"))
    typed = list(steps())
    assert len(typed) > 40
    for step in typed:
        shell.carry_out(step)


@pytest.mark.gate("DOC-09")
def test_the_same_in_python_prints_what_is_written_down() -> None:
    (program,) = blocks("python", 6)
    (printed,) = blocks("text", 6)
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed
