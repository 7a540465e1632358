"""docs/operations.md is enough to run forgetd: every event, finding and alarm is there."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.limits import PLAN_LIFETIME_MS, PLANS_KEPT_MAX
from sidecar.status import PAUSE_TEXTS
from sidecar.store.check_tables import MISFITS
from sidecar.store.event_kinds import KINDS
from sidecar.store.findings import REMEDIES
from sidecar.thresholds import DEFAULTS
from tests.sources import ROOT, functions, text_of, tree_of

PAGE = ROOT / "docs" / "operations.md"
ENOUGH_CHARACTERS = 10


def section(title: str) -> str:
    """The text below a heading of the page, up to the next one of its level."""
    _, _, rest = text_of(PAGE).partition(f"\n## {title}\n")
    assert rest, title
    return rest.partition("\n## ")[0]


def rows(title: str) -> dict[str, list[str]]:
    """The other cells of each row of a section's tables, by the first cell without backticks."""
    found: dict[str, list[str]] = {}
    for line in section(title).splitlines():
        if line.startswith("|") and not line.startswith("|--"):
            first, *others = (cell.strip() for cell in line.strip("|").split("|"))
            assert first not in found or first in ("finding", "told"), first
            found[first.strip("`")] = others
    return found


@pytest.mark.gate("OPS-01")
def test_every_event_kind_says_what_happened_and_what_to_do() -> None:
    documented = rows("What each event means")
    assert documented.pop("event") == ["what happened", "what to do"]
    assert set(documented) == {kind.kind for kind in KINDS}
    for kind, (happened, to_do) in documented.items():
        assert len(happened) > ENOUGH_CHARACTERS, kind
        assert to_do == "nothing" or len(to_do) > ENOUGH_CHARACTERS, kind


@pytest.mark.gate("OPS-02")
def test_every_finding_says_what_is_wrong_and_what_to_do() -> None:
    documented = rows("Checking the files")
    for title in ("finding", "told"):
        documented.pop(title)
    assert set(documented) == set(REMEDIES) | set(MISFITS)
    for name, cells in documented.items():
        assert len(cells) == (2 if name in REMEDIES else 1), name
        assert all(len(cell) > ENOUGH_CHARACTERS for cell in cells), name


def literals(path: Path, function: str) -> Iterator[str]:
    """The longest fixed part of every alarm that a function makes, or answers."""
    (body,) = (each for each in functions(tree_of(path)) if each.name == function)
    for node in ast.walk(body):
        made: ast.expr | None = None
        if isinstance(node, ast.Return):
            made = node.value
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "alarms.append":
            made = node.args[0]
        if isinstance(made, ast.Constant | ast.JoinedStr):
            parts = [n.value for n in ast.walk(made) if isinstance(n, ast.Constant)]
            if texts := [part for part in parts if isinstance(part, str)]:
                yield max(texts, key=len)


@pytest.mark.gate("OPS-03")
def test_every_alarm_says_what_it_means_and_what_to_do() -> None:
    documented = rows("What each alarm means")
    documented.pop("alarm")
    alarms = [
        *PAUSE_TEXTS.values(),
        *literals(ROOT / "sidecar" / "status.py", "_alarms"),
        *literals(ROOT / "sidecar" / "automatic.py", "alarm"),
    ]
    assert len(alarms) > len(PAUSE_TEXTS) + 5
    for alarm in alarms:
        (found,) = (shown for shown in documented if shown in alarm)
        assert len(documented.pop(found)) == 2
    assert not documented, "the page has alarms that the daemon has not"


@pytest.mark.gate("OPS-03")
def test_times_and_numbers_on_the_page_are_those_in_force() -> None:
    kept = rows("What is kept, and for how long")
    assert f"({DEFAULTS['eventRetentionDays']:g})" in kept["events"][0]
    plans = f"the last {PLANS_KEPT_MAX} of a namespace, for {PLAN_LIFETIME_MS // 60_000} minutes"
    assert plans in kept["plans of dry runs"][0]
