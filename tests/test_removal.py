"""Who may take a payload away, read from the source: one path destroys, the others only move."""

import re

import pytest

from tests.sources import name_of, python_files, text_of

DESTROY = "sidecar/apply/destroy.py"

# What takes something away: who may, and where the payload is when he has.
AWAY: dict[str, dict[str, str]] = {
    r"DELETE FROM memories\b": {DESTROY: "destroyed"},
    r"DELETE FROM (texts|vectors|search)\b": {
        "sidecar/store/hot_payloads.py": "the one way out of the hot tables",
        "sidecar/store/cold_tables.py": "the index of cold memories, a cache",
    },
    r"\bhot_payloads\.delete\(": {
        DESTROY: "destroyed",
        "sidecar/apply/moves.py": "in a segment that was read back",
        "sidecar/store/intake.py": "replaced by an import, or in a segment that was read back",
        "sidecar/store/records.py": "replaced by the host's new words",
    },
    r"\bleave_segments\(": {
        DESTROY: "destroyed",
        "sidecar/apply/compact.py": "in another segment that was read back",
        "sidecar/apply/moves.py": "in another segment, or in the hot tables",
        "sidecar/apply/rewrite.py": "no row was in it any more",
        "sidecar/store/adopt.py": "the file was gone before",
        "sidecar/store/hot_payloads.py": "in the hot tables",
        "sidecar/store/intake.py": "replaced by an import",
    },
    r"INSERT (OR IGNORE )?INTO unlink_intents": {
        "sidecar/apply/compact.py": "nothing ever pointed at it",
        "sidecar/apply/moves.py": "nothing ever pointed at it",
        "sidecar/apply/rewrite.py": "all it held was copied first, but for what is destroyed",
        "sidecar/store/doctor.py": "all it held was read elsewhere",
        "sidecar/store/hot_payloads.py": "no row is in it any more",
        "sidecar/store/intake.py": "nothing ever pointed at it",
    },
    r"INSERT (OR IGNORE )?INTO media_unlink_intents": {
        "sidecar/store/media_removal.py": "the last memory that named it is destroyed",
    },
}


@pytest.mark.gate("GC-21")
@pytest.mark.parametrize("pattern", AWAY)
def test_only_listed_code_takes_a_payload_away(pattern: str) -> None:
    found = {
        name_of(path)
        for path in python_files("sidecar")
        if re.search(pattern, without_definitions(text_of(path)))
    }
    assert found == set(AWAY[pattern])


@pytest.mark.gate("GC-21")
def test_the_destroyer_is_reached_from_a_gc_run_only() -> None:
    users = {
        name_of(path)
        for path in python_files("sidecar")
        if re.search(r"\bDestroyer\(", without_definitions(text_of(path)))
    }
    assert users == {"sidecar/apply/runner.py"}
    callers = {
        name_of(path)
        for path in python_files("sidecar")
        if re.search(r"unner\.destroy\(", text_of(path))
    }
    assert callers == {"sidecar/collecting.py"}


def without_definitions(text: str) -> str:
    """The text without the lines that define what is looked for."""
    return "\n".join(
        line for line in text.splitlines() if not line.lstrip().startswith(("def ", "class "))
    )
