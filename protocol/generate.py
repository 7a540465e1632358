"""Writes the contract from the live registry: `python -m protocol.generate`, or `--check`.

Written are openrpc.json, errors.json, events.json, estimate.json, and conformance/methods.jsonl,
which carries out the examples of every method. What people write by hand: descriptions.toml,
examples/, the other transcripts, CHANGELOG.md.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from protocol.descriptions import Descriptions
from protocol.estimate_table import estimate_table
from protocol.events_table import events_table
from protocol.examples import read_examples, transcript_of
from protocol.openrpc_document import errors_table, openrpc_document
from sidecar.rpc.methods import METHODS

FOLDER: Final = Path(__file__).resolve().parent
COMMAND: Final = "python -m protocol.generate"


def contract() -> dict[str, Any]:
    """The OpenRPC document of the methods that there are."""
    examples = {method: file.examples for method, file in read_examples().items()}
    return openrpc_document([*METHODS.values()], examples, Descriptions())


def _methods_transcript() -> str:
    files = read_examples()
    lines = [
        line
        for method in METHODS
        if method in files
        for line in transcript_of(method, files[method])
    ]
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


FILES: Final[dict[str, Callable[[], str]]] = {
    "openrpc.json": lambda: _pretty(contract()),
    "errors.json": lambda: _pretty(errors_table()),
    "events.json": lambda: _pretty(events_table(Descriptions())),
    "estimate.json": lambda: _pretty(estimate_table()),
    "conformance/methods.jsonl": _methods_transcript,
}


def stale() -> list[str]:
    """The names of the files that are not what would be written now."""

    def written(name: str) -> str | None:
        path = FOLDER / name
        return path.read_text("utf-8") if path.exists() else None

    return [name for name, text in FILES.items() if written(name) != text()]


def main() -> int:
    """Write the files, or with --check say which of them are not current."""
    if sys.argv[1:] == ["--check"]:
        old = stale()
        told = [f"protocol/{name} is not current: run {COMMAND}" for name in old]
        print("\n".join(told) or "the contract is current")
        return 1 if old else 0
    for name, text in FILES.items():
        (FOLDER / name).write_text(text(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
