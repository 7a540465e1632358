"""protocol/conformance/, carried out against a real daemon in one go."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from sidecar.errors import walk
from sidecar.rpc.methods import METHODS
from sidecar.store.event_kinds import KINDS, MemoryChange, wire_payload
from sidecar.store.event_log import TOMBSTONE
from sidecar.thresholds import parse_thresholds
from tests.running import RunningDaemon, daemon_folder, permissive_config
from tests.sources import ROOT, python_files, tree_of
from tests.transcripts import Section, carry_out, compare, filled, sections

SECTIONS = sections()

# Errors that no transcript can bring about, because a daemon in good health is needed for them
# to be told at all, and why.
NOT_PROVOKED = {
    "internal_error": "is a fault of the daemon",
    "overloaded": "takes hundreds of calls at once",
    "shutting_down": "takes a call in the moment of a stop",
    "deadline_exceeded": "takes a call that lasts a minute",
    "read_only": "takes a disk that fails",
    "disk_full": "takes a disk that is full",
    "corrupt": "takes a disk that rots",
    "namespace_not_found": "is told to who follows events; calls that read answer as if empty",
    "namespace_locked": "takes another process that holds the namespace",
    "schema_too_new": "takes a namespace of a newer version",
    "namespaces_exhausted": "takes runs in 64 namespaces at once",
    "run_queue_full": "takes more runs at once than wait in line",
    "gc_token_expired": "takes a quarter of an hour",
    "gc_busy": "takes a run that is under way",
    "proposals_full": "takes a thousand proposals",
    "clock_not_injectable": "is told by a daemon that was started without the option",
}


@pytest.fixture(scope="module")
def daemon() -> Iterator[RunningDaemon]:
    with daemon_folder() as start:
        yield start(allow_injected_clock=True, config=permissive_config(start.folder)).ready()


def of(file: str) -> Any:
    chosen = [(number, one) for number, one in enumerate(SECTIONS) if one.file == file]
    return pytest.mark.parametrize(
        "number,section", chosen, ids=[one.title[:60] for _, one in chosen]
    )


def conforms(daemon: RunningDaemon, number: int, section: Section) -> None:
    assert section.lines
    for _ in carry_out(section, daemon.socket, f"section-{number}"):
        pass


@pytest.mark.gate("PROT-10")
@of("specification")
def test_the_examples_of_the_specification(
    daemon: RunningDaemon, number: int, section: Section
) -> None:
    conforms(daemon, number, section)


@pytest.mark.gate("PROT-10")
def test_there_are_as_many_as_in_the_specification() -> None:
    assert sum(section.file == "specification" for section in SECTIONS) == 15


@pytest.mark.gate("PROT-11")
@of("limits")
def test_limits_hold_to_the_byte(daemon: RunningDaemon, number: int, section: Section) -> None:
    conforms(daemon, number, section)


@pytest.mark.gate("PROT-12")
@of("errors")
def test_errors_are_told_by_symbol(daemon: RunningDaemon, number: int, section: Section) -> None:
    conforms(daemon, number, section)


@pytest.mark.gate("PROT-12")
def test_every_error_is_provoked_or_named_with_a_reason() -> None:
    lines = [line for section in SECTIONS if section.file == "errors" for line in section.lines]
    provoked = set(re.findall(r'"symbol": "(\w+)"', json.dumps(lines)))
    assert not provoked & NOT_PROVOKED.keys()
    assert provoked | NOT_PROVOKED.keys() == {error.symbol for error in walk()}


@pytest.mark.gate("PROT-13")
def test_every_method_has_a_happy_path() -> None:
    happy = {s.title.partition(":")[0] for s in SECTIONS if s.file == "methods"}
    assert happy == set(METHODS)


# The last of the daemon: system.stop is the last section.
@pytest.mark.gate("PROT-06", "PROT-13")
@of("methods")
def test_every_example_is_answered_as_it_says(
    daemon: RunningDaemon, number: int, section: Section
) -> None:
    conforms(daemon, number, section)
    if section.title.startswith("system.stop"):
        assert daemon.wait() == 0


@pytest.mark.gate("PROT-08")
def test_every_event_that_is_written_fits_its_kind() -> None:
    kinds = {one.kind: one for one in KINDS}
    seen: set[str] = set()
    with daemon_folder() as start:
        writing = start(allow_injected_clock=True, config=permissive_config(start.folder)).ready()
        for number, section in enumerate(SECTIONS):
            if section.file == "methods":
                conforms(writing, number, section)
        assert writing.wait() == 0
        for kind, payload in written_events(writing.state_dir):
            seen.add(kind)
            declared = kinds[kind].payload
            if declared is None:
                parse_thresholds(payload)
            else:
                of_a_memory = payload.pop(TOMBSTONE, None) or issubclass(declared, MemoryChange)
                told = wire_payload(payload) if of_a_memory else payload
                msgspec.convert(told, declared)
    assert len(seen) > 10


def written_events(state_dir: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every event of every namespace."""
    for path in sorted(state_dir.rglob("hot.db")):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            for kind, payload in connection.execute("SELECT kind, payload FROM events"):
                yield str(kind), json.loads(str(payload))
        finally:
            connection.close()


# What looks like a kind and is only a line in the log.
NO_EVENTS = {"namespace.opened", "namespace.closed", "namespace.deleted"}


@pytest.mark.gate("PROT-08")
def test_every_kind_in_the_code_is_in_the_table_and_every_one_of_the_table_is_written() -> None:
    table = json.loads((ROOT / "protocol" / "events.json").read_text("utf-8"))
    documented = {one["kind"]: one for one in table["kinds"]}
    unlogged = {one["kind"] for one in table["streamOnly"]}
    nouns = "|".join(sorted({kind.partition(".")[0] for kind in documented}))
    like_a_kind = re.compile(rf"({nouns})\.[a-z_]+")
    found = {text for text in texts_of_the_code() if text in documented}
    others = {text for text in texts_of_the_code() if like_a_kind.fullmatch(text)} - found
    assert others - METHODS.keys() - NO_EVENTS - unlogged == set(), (
        "put it into sidecar/store/event_kinds.py"
    )
    assert found == documented.keys(), "nothing writes the others of sidecar/store/event_kinds.py"
    for one in documented.values():
        assert one["when"].endswith(".")
        assert one["payload"]["$ref"].rpartition("/")[2] in table["schemas"]


def texts_of_the_code() -> Iterator[str]:
    """Every plain text in the daemon, but for the wire, the command and the table itself."""
    for path in python_files("sidecar"):
        outside = {"rpc", "cli"} & set(path.parts) or path.name in ("event_kinds.py", "client.py")
        if not outside:
            for node in ast.walk(tree_of(path)):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


@pytest.mark.gate("PROT-06")
@pytest.mark.parametrize(
    "pattern,value,fits",
    [
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1, "...": True}, {"a": 1, "b": 2}, True),
        ({"a": 1, "...": True}, {"b": 2}, False),
        ([1, "..."], [1, 2, 3], True),
        ([1], [1, 2], False),
        ("<any>", None, True),
        ("<string>", 5, False),
        ("<integer>", 5.5, False),
        ("<number>", True, False),
        (0.1, 0.1 * (1 + 1e-12), True),
        (0.1, 0.11, False),
        (None, 0, False),
        (1, True, False),
        ({"$repeat": ["<array>"], "times": 2}, [[], [1]], True),
        ({"$nest": 3}, [[[0]]], True),
    ],
)
def test_a_pattern_covers_what_it_says(pattern: Any, value: Any, fits: bool) -> None:
    if fits:
        compare(filled(pattern, {}), value, "here")
    else:
        with pytest.raises(AssertionError, match="here"):
            compare(filled(pattern, {}), value, "here")
