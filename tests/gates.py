"""Holds testing.md and the tests together, as a pytest plugin.

testing.md has a matrix with rows `| ID | behaviour | tests |`. A Python test says which rows it
proves by `@pytest.mark.gate("ID")`, a TypeScript test by `[ID]` in its title. `offences` reads
both sides from the sources, so it sees everything also when only some tests are run. The hooks
turn the skip or the expected failure of a gated test into a failure: a row that was not proved
must not look proved.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROW = re.compile(r"^\| *`?([A-Z]{2,8}-\d{2,3})`? *\|(.*)\|(.*)\|\s*$", re.MULTILINE)
ROW_LIKE = re.compile(r"^\|[ `]*([A-Z]{2,8}-\w+)[ `]*\|", re.MULTILINE)
TEST_FILE = re.compile(r"[\w./-]+\.(?:py|m?ts)\b")
TITLE_ID = re.compile(r"\[([A-Z]{2,8}-\d{2,3})\]")
NODE_EVASION = re.compile(r"\.(?:skip|todo|only)\s*\(|\b(?:skip|todo|only)\s*:")
TYPESCRIPT_PREFIX = "TS-"


@dataclass(frozen=True)
class Row:
    """One line of the matrix. `files` are the test files as they are named there."""

    id: str
    behaviour: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class Mark:
    """A test that says it proves a row; `fault` is why it may not say so, if anything."""

    id: str
    file: str
    test: str
    fault: str | None = None


def read_rows(testing_md: str) -> list[Row]:
    """The rows of the matrix, in order, repeated ids too."""
    return [
        Row(match[1], match[2].strip(), tuple(TEST_FILE.findall(match[3])))
        for match in ROW.finditer(testing_md)
    ]


def python_marks(root: Path) -> Iterator[Mark]:
    """Every gate marker below `root`/tests, by reading the sources."""
    for path in sorted((root / "tests").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        file = path.relative_to(root).as_posix()
        collected = path.name.startswith("test_")
        for node, inside in _definitions(tree.body):
            fault = None if collected and _is_test(node, inside) else "is not collected by pytest"
            for identifier in _gate_arguments(node):
                if identifier is None:
                    yield Mark("?", file, node.name, "names its row by more than a plain string")
                else:
                    yield Mark(identifier, file, node.name, fault)


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _definitions(body: list[ast.stmt], inside: str = "") -> Iterator[tuple[Definition, str]]:
    for node in body:
        if isinstance(node, Definition):
            yield node, inside
        if isinstance(node, ast.ClassDef):
            yield from _definitions(node.body, node.name)


def _is_test(node: Definition, inside: str) -> bool:
    if isinstance(node, ast.ClassDef):
        return node.name.startswith("Test")
    return node.name.startswith("test_") and (not inside or inside.startswith("Test"))


def _gate_arguments(node: Definition) -> Iterator[str | None]:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.gate":
            for argument in decorator.args or [None]:
                plain = isinstance(argument, ast.Constant) and isinstance(argument.value, str)
                yield argument.value if plain else None


def typescript_marks(root: Path) -> Iterator[Mark]:
    """Every `[ID]` in the TypeScript tests. A file with a skip or an only proves nothing."""
    for path in sorted((root / "ts-client" / "test").rglob("*.ts")):
        text = path.read_text(encoding="utf-8")
        file = path.relative_to(root).as_posix()
        fault = "is in a file that skips or selects tests" if NODE_EVASION.search(text) else None
        for match in TITLE_ID.finditer(text):
            yield Mark(match[1], file, match[0], fault)


def offences(root: Path) -> list[str]:
    """Every way in which testing.md and the tests disagree, one sentence each."""
    testing_md = (root / "testing.md").read_text(encoding="utf-8")
    rows = read_rows(testing_md)
    marks = [*python_marks(root), *typescript_marks(root)]
    counted = Counter(row.id for row in rows)
    known = set(counted)
    return [
        *_malformed(testing_md, known),
        *(f"{row_id} stands {count} times" for row_id, count in counted.items() if count > 1),
        *(f"{m.file}: {m.test} {m.fault}" for m in marks if m.fault),
        *sorted({f"{m.file}: {m.id} is no row of testing.md" for m in marks if m.id not in known}),
        *_unproved(root, rows, marks),
    ]


def _malformed(testing_md: str, known: set[str]) -> Iterator[str]:
    for match in ROW_LIKE.finditer(testing_md):
        if match[1] not in known:
            yield f"{match[1]} is not a row of the form | ID-00 | behaviour | tests |"


def _unproved(root: Path, rows: Iterable[Row], marks: Iterable[Mark]) -> Iterator[str]:
    files_by_id: defaultdict[str, set[str]] = defaultdict(set)
    for mark in marks:
        if not mark.fault:
            files_by_id[mark.id].add(mark.file)
    for row in rows:
        proving = files_by_id[row.id]
        if not row.behaviour:
            yield f"{row.id} says no behaviour"
        if not row.files:
            yield f"{row.id} names no test file"
        if not proving:
            yield f"{row.id} has no test"
        elif row.id.startswith(TYPESCRIPT_PREFIX) and not any(f.endswith(".ts") for f in proving):
            yield f"{row.id} has no TypeScript test with [{row.id}] in its title"
        for name in row.files:
            file = _locate(root, name)
            if file is None:
                yield f"{row.id} names {name}, which does not exist"
            elif proving and file not in proving:
                yield f"{row.id} names {name}, where no test is marked with it"


def _locate(root: Path, name: str) -> str | None:
    """The file from the root, for a name given from the root or from a folder of tests."""
    for start in ("", "tests/", "ts-client/", "ts-client/test/"):
        if (root / start / name).is_file():
            return start + name
    return None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A gated test that is skipped, or passes or fails as expected failure, has failed."""
    report = yield
    identifiers = [i for marker in item.iter_markers("gate") for i in marker.args]
    if identifiers and (report.skipped or hasattr(report, "wasxfail")):
        why = getattr(report, "wasxfail", None) or _skip_reason(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} proves {', '.join(identifiers)} and did not run: {why}"
        vars(report).pop("wasxfail", None)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A module that skips itself as a whole may hold no gated test."""
    report = yield
    if report.skipped and isinstance(collector, pytest.Module):
        tree = ast.parse(collector.path.read_text(encoding="utf-8"))
        gated = [i for node, _ in _definitions(tree.body) for i in _gate_arguments(node)]
        if gated:
            report.outcome = "failed"
            report.longrepr = f"{collector.nodeid} holds gated tests and skips itself as a whole"
    return report


def _skip_reason(longrepr: object) -> str:
    return str(longrepr[2]) if isinstance(longrepr, tuple) else str(longrepr)
