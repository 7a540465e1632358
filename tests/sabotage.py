"""Lines to break, for every promise of testing.md, and the test that must then fail.

    python -m tests.sabotage               every breakage, one after the other
    python -m tests.sabotage --only P4     those of one promise

Each is made in a copy of the repository, never here. A breakage that no test notices is a missing
test. What is listed is held to the sources by tests/unit/test_sabotage.py.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from tests.sabotage_case import Sabotage
from tests.sabotage_list import SABOTAGES
from tests.sources import ROOT, repository_files

TEST_SECONDS_MAX: Final = 900.0
TESTS_FAILED: Final = 1  # pytest's exit code; 2 and above mean that the test was not run

Verdict = Literal["caught", "not noticed", "fails unbroken", "cannot be run", "does not end"]


@dataclass(frozen=True)
class Judgement:
    """What became of one breakage, and the last lines of the test that decided it."""

    sabotage: Sabotage
    verdict: Verdict
    told: str = ""


def copy_repository(target: Path) -> None:
    """Copy what belongs to the repository, so that breaking it breaks nothing."""
    for path in repository_files():
        if path.is_file():
            copied = target / path.relative_to(ROOT)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copied)
    subprocess.run(["git", "init", "--quiet", target], check=True)


def judge(root: Path, sabotage: Sabotage) -> Judgement:
    """Break the copy at `root`, run the named test, and mend the copy again."""
    path = root / sabotage.file
    whole = path.read_text(encoding="utf-8")
    if whole.count(sabotage.old) != 1:
        return Judgement(sabotage, "cannot be run", f"{sabotage.file} has changed")
    path.write_text(whole.replace(sabotage.old, sabotage.new), encoding="utf-8")
    try:
        code, told = run_test(root, sabotage.test)
    finally:
        path.write_text(whole, encoding="utf-8")
    if code is None:
        return Judgement(sabotage, "does not end", told)
    if code == 0:
        return Judgement(sabotage, "not noticed", told)
    return Judgement(sabotage, "caught" if code == TESTS_FAILED else "cannot be run", told)


def run_test(root: Path, test: str) -> tuple[int | None, str]:
    """The exit code of one test in the copy, None where it does not end, and its last words."""
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", test]
    try:
        done = subprocess.run(
            command,
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
            timeout=TEST_SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, f"longer than {TEST_SECONDS_MAX:g} seconds"
    return done.returncode, "\n".join((done.stdout + done.stderr).splitlines()[-15:])


def judge_all(root: Path, chosen: Iterable[Sabotage]) -> Iterable[Judgement]:
    """Every breakage in turn. A test that fails unbroken proves nothing and is told so."""
    unbroken: dict[str, tuple[int | None, str]] = {}
    for sabotage in chosen:
        if sabotage.test not in unbroken:
            unbroken[sabotage.test] = run_test(root, sabotage.test)
        code, told = unbroken[sabotage.test]
        if code == 0:
            yield judge(root, sabotage)
        else:
            yield Judgement(sabotage, "fails unbroken", told)


def main(arguments: list[str] | None = None) -> int:
    """Run the list; 0 where every breakage was caught."""
    promises = list(dict.fromkeys(sabotage.promise for sabotage in SABOTAGES))
    parser = argparse.ArgumentParser(prog="python -m tests.sabotage", description=__doc__)
    parser.add_argument("--only", choices=promises, help="the breakages of one promise")
    only: str | None = parser.parse_args(arguments).only
    chosen = [one for one in SABOTAGES if only in (None, one.promise)]
    missed = 0
    with tempfile.TemporaryDirectory(prefix="forgetd-sabotage-") as folder:
        copy_repository(Path(folder))
        started = time.monotonic()
        for judgement in judge_all(Path(folder), chosen):
            one = judgement.sabotage
            seconds, started = time.monotonic() - started, time.monotonic()
            print(f"{one.promise:<4}{judgement.verdict:<15}{one.what}  [{seconds:.0f} s]")
            if judgement.verdict != "caught":
                missed += 1
                print(f"    {one.file}, {one.test}\n    {judgement.told}".replace("\n", "\n    "))
    print(f"{missed} of {len(chosen)} not caught" if missed else f"all caught: {len(chosen)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
