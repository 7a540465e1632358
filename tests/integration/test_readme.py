"""A stranger types what the README shows, and gets what it promises."""

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.running import COMMAND_SECONDS_MAX, RunningDaemon

ROOT = Path(__file__).resolve().parents[2]


def block(language: str, containing: str) -> str:
    """The README's one code block in `language` that contains the text."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    fences = re.findall(rf"^```{language}\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    (found,) = [fence for fence in fences if containing in fence]
    return found


@pytest.fixture
def socket(start: Callable[..., RunningDaemon]) -> Path:
    """The socket of a daemon that has a state directory to itself."""
    return start().socket


def run(command: list[str], socket: Path, folder: Path) -> str:
    """The standard output of a command that must succeed."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "FORGETD_SOCKET": str(socket)},
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A Node project that has installed the client, and the README's program in it."""
    folder = tmp_path / "project"
    (folder / "node_modules").mkdir(parents=True)
    (folder / "node_modules" / "forgetd").symlink_to(ROOT / "ts-client")
    (folder / "node_modules" / "@types").symlink_to(ROOT / "ts-client" / "node_modules" / "@types")
    program = block("ts", "MemorySystem.open")
    (folder / "program.mts").write_text(program, encoding="utf-8")
    (folder / "program.mjs").write_text(program, encoding="utf-8")
    return folder


@pytest.mark.gate("DOC-08")
def test_the_typescript_of_the_readme_runs(socket: Path, project: Path) -> None:
    assert run(["node", "program.mjs"], socket, project).splitlines()[0] == "Tofu is a grey cat"


@pytest.mark.gate("DOC-08")
def test_the_typescript_of_the_readme_has_types(project: Path) -> None:
    compiler = ROOT / "ts-client" / "node_modules" / ".bin" / "tsc"
    flags = ["--noEmit", "--strict", "--module", "nodenext", "--types", "node"]
    run([str(compiler), *flags, "program.mts"], project, project)


@pytest.mark.gate("DOC-08")
def test_the_curl_call_of_the_readme_gets_a_report(socket: Path, tmp_path: Path) -> None:
    answer = json.loads(run(["sh", "-c", block("sh", "curl")], socket, tmp_path))
    assert answer["result"]["dryRun"] is True
    assert answer["result"]["namespace"] == "me"
