"""The demo tells the whole story, every claim in it is checked, and nothing is left behind."""

import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from sidecar.client import Client
from tests.sources import ROOT

DEMO = ROOT / "examples" / "demo.py"
SECONDS_MAX = 120.0
LINES_MAX = 95
TICK = "✓"


@dataclass
class Told:
    """What a demo said, how it ended, and what it left in its folder for temporary files."""

    folder: Path
    code: int
    out: str
    errors: str
    left: list[Path]

    @property
    def lines(self) -> list[str]:
        """What it said, line by line."""
        return self.out.splitlines()

    @cached_property
    def claims(self) -> list[str]:
        """The sentences that it checked."""
        return [line.split(TICK, 1)[1].strip() for line in self.lines if TICK in line]

    def number(self, pattern: str) -> int:
        """The number that the one claim like this names."""
        (found,) = [match[1] for claim in self.claims if (match := re.search(pattern, claim))]
        return int(found)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """The demo as `make demo` plays it, in settings that must not reach its daemon."""
    folder = tmp_path_factory.mktemp("demo")
    return play(folder, [str(DEMO)], FORGETD_THRESHOLDS_FORGET_ENABLED="false")


def play(folder: Path, command: list[str], **variables: str) -> Told:
    """Run the demo to its end with `folder` for temporary files."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder.parent,
        env={**os.environ, "TMPDIR": str(folder), **variables},
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS_MAX,
        check=False,
    )
    return Told(folder, done.returncode, done.stdout, done.stderr, sorted(folder.iterdir()))


def processes_with(text: Path) -> list[int]:
    """The processes whose environment names the folder, this one left out."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environment = (entry / "environ").read_bytes()
        except OSError:
            continue  # ended in between, or another user's
        if os.fsencode(text) in environment:
            found.append(int(entry.name))
    return found


@pytest.mark.gate("DEMO-01")
def test_it_runs_to_its_end_and_is_short_enough_to_read(told: Told) -> None:
    assert (told.code, told.errors) == (0, "")
    assert len(told.lines) <= LINES_MAX
    assert max(len(line) for line in told.lines) <= 100
    assert [line[0] for line in told.lines if re.match(r"\d  ", line)] == list("12345678")
    assert len(told.claims) >= 15


@pytest.mark.gate("DEMO-01")
def test_its_last_line_is_a_command_that_exists(told: Told) -> None:
    program, command = shlex.split(told.lines[-1])
    shown = subprocess.run(
        [ROOT / program, command, "--help"],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=True,
    )
    assert "Run the daemon" in shown.stdout


@pytest.mark.gate("DEMO-01")
def test_the_readme_shows_what_it_prints(told: Told) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```text\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert TICK in shown
    assert [line for line in shown.splitlines() if line not in told.lines] == []


@pytest.mark.gate("DEMO-01")
def test_the_help_of_make_says_of_it_what_the_readme_says() -> None:
    shown = subprocess.run(
        ["make", "--directory", ROOT, "--no-print-directory", "help"],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=True,
    )
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    ((demo, said),) = re.findall(r"^(make demo +)# (.*)$", readme, re.MULTILINE)
    assert f"{demo}{said}\n" in shown.stdout
    assert {"cycle", "destroy"} <= set(re.findall(r"\w+", said))


@pytest.mark.gate("DEMO-02")
def test_the_daemon_spills_by_itself_after_the_import(told: Told) -> None:
    assert told.number(r"^(\d+) created, 0 replaced, 0 already there") == 154
    assert told.number(r"spilled by itself: (\d+) hot, 46 cold, none lost") == 108


@pytest.mark.gate("DEMO-03")
def test_the_plan_has_both_stages_with_reasons_and_is_carried_out_exactly(told: Told) -> None:
    spilled = told.number(r"278 hot are more than 120: (\d+) would be spilled")
    forgotten = told.number(r"324 in total are more than 300: (\d+) would be forgotten")
    carried_out = told.number(r"^All (\d+) decisions of the plan were carried out, and no other")
    assert carried_out == spilled + forgotten
    for stage, reason in (
        ("1 spill", "hot_over_threshold"),
        ("2 forget", "superseded"),
        ("2 forget", "expired"),
        ("2 forget", "total_over_threshold"),
    ):
        row = rf"^ +{stage} +{reason} +0\.\d{{4}} +[01]\.\d{{4}} +\d+ d  \S"
        assert len(re.findall(row, told.out, re.MULTILINE)) >= 2, (stage, reason)
    assert "The dry run has not changed a byte of the directory." in told.claims
    assert "Fewer memories, fewer live bytes, and a smaller hot.db." in told.claims


@pytest.mark.gate("DEMO-04")
def test_recall_reaches_the_archive_and_the_undo_brings_everything_back(told: Told) -> None:
    assert re.search(r"^ +cold  .*커피를", told.out, re.MULTILINE)
    assert any("gives null: it was forgotten" in claim for claim in told.claims)
    assert any(re.search(r"restore.* hot again", claim) for claim in told.claims)
    assert told.number(r"^Hot 108 → (\d+), cold 162 → 46, forgotten 54 → 0") == 278
    assert told.number(r"^All (\d+) memories have their tier, text, times, links") == 324


@pytest.mark.gate("DEMO-04")
def test_it_ends_with_a_plan_of_what_could_be_destroyed_and_destroys_nothing(told: Told) -> None:
    assert re.match(r"3 memories \(3 forgotten\), .* aged", told.claims[-2])
    assert told.claims[-1].startswith("Nothing was destroyed")


@pytest.mark.gate("DEMO-05")
def test_nothing_is_left_behind(told: Told) -> None:
    assert told.left == []
    assert processes_with(told.folder) == []


@pytest.mark.gate("DEMO-05")
def test_a_demo_that_is_stopped_takes_its_daemon_and_directory_with_it(tmp_path: Path) -> None:
    demo = subprocess.Popen(
        [sys.executable, DEMO],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert demo.stdout is not None
    first_claim = next(line for line in demo.stdout if TICK in line)
    assert "MemorySystem.open" in first_claim
    demo.send_signal(signal.SIGTERM)
    _, errors = demo.communicate(timeout=SECONDS_MAX)
    assert (demo.returncode, errors.strip()) == (1, "demo: stopped from outside")
    assert list(tmp_path.iterdir()) == []
    assert processes_with(tmp_path) == []


@pytest.mark.gate("DEMO-06")
def test_a_directory_that_is_kept_can_be_served_by_the_last_line(folder: Path) -> None:
    told = play(folder, [str(DEMO), "--keep"])
    assert told.code == 0, told.errors
    (kept,) = told.left
    program, *words = shlex.split(told.lines[-1])
    log = folder / "log"
    with log.open("wb") as stream:
        daemon = subprocess.Popen([ROOT / program, *words], stdout=stream, stderr=stream)
    try:
        client = Client(kept / "s", timeout_seconds=SECONDS_MAX)
        client.wait_until_ready(SECONDS_MAX)
        status = client.call("system.status", {"namespace": "demo"})["namespaces"][0]
        assert [status["counts"][tier] for tier in ("hot", "cold", "forgotten")] == [278, 46, 0]
    finally:
        daemon.terminate()
        assert daemon.wait(SECONDS_MAX) == 0, log.read_text()


@pytest.mark.gate("DEMO-07")
@pytest.mark.parametrize(
    ("sabotage", "said"),
    [
        ("demo.IMPORTED = 155", "154 created"),
        (
            "back = demo.told; demo.told = lambda one: one and (back(one), one['restoredAt'])",
            "have their tier, text, times",
        ),
    ],
)
def test_a_claim_that_does_not_hold_ends_it_with_what_was_found(
    tmp_path: Path, sabotage: str, said: str
) -> None:
    program = f"import sys; sys.path.insert(0, {str(DEMO.parent)!r}); import demo; {sabotage}; "
    ended = play(tmp_path, ["-c", f"{program} demo.main()"])
    assert ended.code == 1
    assert ended.errors.startswith("demo: not as told: ")
    assert said in ended.errors
    assert "found:" in ended.errors
    assert ended.left == []


@pytest.mark.gate("DEMO-07")
def test_a_program_in_typescript_that_fails_ends_it_too(tmp_path: Path) -> None:
    program = f"import sys; sys.path.insert(0, {str(DEMO.parent)!r}); import demo; "
    sabotage = "demo.Stage.memories = property(lambda stage: stage.folder); "
    ended = play(tmp_path, ["-c", f"{program}{sabotage}demo.main()"])
    assert ended.code == 1
    assert "not as told: Fewer memories, fewer live bytes, and a smaller hot.db." in ended.errors
    assert "examples/demo/sweep.ts" in ended.errors
    assert ended.left == []


@pytest.mark.gate("DEMO-07")
def test_without_node_it_says_what_is_missing(tmp_path: Path) -> None:
    ended = play(tmp_path, [str(DEMO)], PATH=str(tmp_path))
    assert (ended.code, ended.out) == (1, "")
    assert ended.errors == "demo: needs Node 20 or newer, and found none\n"


@pytest.mark.gate("DEMO-08")
def test_it_is_coloured_on_a_terminal_only_and_not_where_nobody_wants_it(
    told: Told, tmp_path: Path
) -> None:
    assert "\x1b" not in told.out
    assert "\x1b[32m✓" in on_a_terminal(tmp_path)
    assert "\x1b" not in on_a_terminal(tmp_path, NO_COLOR="1")


def on_a_terminal(folder: Path, **variables: str) -> str:
    """What the demo writes to a terminal."""
    environment = {name: text for name, text in os.environ.items() if name != "NO_COLOR"}
    ours, theirs = pty.openpty()
    demo = subprocess.Popen(
        [sys.executable, DEMO],
        env={**environment, "TMPDIR": str(folder), "TERM": "xterm", **variables},
        stdout=theirs,
    )
    os.close(theirs)
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        written = b"".join(until_closed(terminal.read))
    assert demo.wait(SECONDS_MAX) == 0
    return written.decode()


def until_closed(read: Callable[[int], bytes | None]) -> Iterator[bytes]:
    """What comes from a terminal until its last writer has gone, which Linux tells by an error."""
    give_up_at = time.monotonic() + SECONDS_MAX
    while time.monotonic() < give_up_at:
        try:
            part = read(4096)
        except OSError:
            return
        if not part:
            return
        yield part
