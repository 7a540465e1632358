"""The sabotage list is true to the sources, and its runner tells what a test noticed."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.sabotage import judge_all
from tests.sabotage_case import Sabotage
from tests.sabotage_list import SABOTAGES
from tests.sources import ROOT, text_of, tree_of

PROMISES = [f"P{number}" for number in range(1, 13)]
NAMES = [f"{one.promise} {one.what}" for one in SABOTAGES]


@pytest.mark.gate("SAB-01")
def test_every_promise_has_at_least_two_breakages() -> None:
    counts = Counter(one.promise for one in SABOTAGES)
    assert list(counts) == PROMISES
    assert [promise for promise, count in counts.items() if count < 2] == []
    assert len(set(NAMES)) == len(NAMES)
    testing = text_of(ROOT / "testing.md")
    assert re.findall(r"^\| (P\d+) \|", testing, re.MULTILINE) == PROMISES


@pytest.mark.gate("SAB-01")
@pytest.mark.parametrize("sabotage", SABOTAGES, ids=NAMES)
def test_a_breakage_breaks_one_place_and_names_a_test_that_exists(sabotage: Sabotage) -> None:
    whole = text_of(ROOT / sabotage.file)
    assert whole.count(sabotage.old) == 1
    broken = whole.replace(sabotage.old, sabotage.new)
    assert ast.dump(ast.parse(broken)) != ast.dump(ast.parse(whole))
    file, _, name = sabotage.test.partition("::")
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    assert name in {n.name for n in ast.walk(tree_of(ROOT / file)) if isinstance(n, functions)}


@pytest.mark.gate("SAB-02")
def test_what_is_noticed_is_told_from_what_is_not(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "code.py").write_text("def one() -> int:\n    return 1\n\n\nTWO = 2\n")
    (tmp_path / "test_code.py").write_text(
        "def test_one():\n    import code_under_test as code\n    assert code.one() == 1\n\n"
        "def test_wrong():\n    assert False\n"
    )
    (tmp_path / "code.py").rename(tmp_path / "code_under_test.py")
    before = (tmp_path / "code_under_test.py").read_text()

    def breaking(old: str, new: str, test: str) -> Sabotage:
        return Sabotage("P1", "", "code_under_test.py", old, new, f"test_code.py::{test}")

    found = judge_all(
        tmp_path,
        [
            breaking("return 1", "return 2", "test_one"),
            breaking("TWO = 2", "TWO = 3", "test_one"),
            breaking("absent", "", "test_one"),
            breaking("return 1", "return 2", "test_wrong"),
            breaking("return 1", "return 2", "test_absent"),
        ],
    )
    verdicts = [judgement.verdict for judgement in found]
    assert verdicts == ["caught", "not noticed", "cannot be run", *["fails unbroken"] * 2]
    assert (tmp_path / "code_under_test.py").read_text() == before
