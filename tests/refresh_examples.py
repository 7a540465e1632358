"""Fills in the results of protocol/examples/: `python -m tests.refresh_examples [METHOD ...]`.

Carries the examples out against a real daemon and writes the results that came back. What
differs from run to run keeps the value that stands in the file. Read the diff before it stays.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from protocol.examples import FOLDER, VARIES
from sidecar.client import Client
from tests.running import daemon_folder, permissive_config
from tests.transcripts import START_MS, found_at


@contextmanager
def client() -> Iterator[Client]:
    """A client of a daemon whose clock can be held."""
    with daemon_folder() as start:
        yield (
            start(allow_injected_clock=True, config=permissive_config(start.folder)).ready().client
        )


def refresh(path: Path, caller: Client) -> None:
    """Carry out one file and write it again."""
    file = json.loads(path.read_text("utf-8"))
    namespace = f"example.{path.stem}"
    caller.call("system.clock", {"now": START_MS})
    known: dict[str, str] = {}

    def call(method: str, given: dict[str, Any]) -> Any:
        params = replaced(given.get("params", {}), known)
        reply = caller.call(method, {"namespace": namespace, **params})
        known.update({text: found_at(reply, at) for at, text in given.get("bind", {}).items()})
        return replaced(
            reply, {namespace: "default"} | {real: text for text, real in known.items()}
        )

    for before in file.get("before", []):
        call(before["method"], before)
    for example in file["examples"]:
        result = call(path.stem, example)
        varies = VARIES | set(example.get("varies", []))
        shown = kept(example.get("result"), result, varies)
        if example.get("open"):
            shown = {name: shown[name] for name in example["result"]}
        example["result"] = shown
    path.write_text(json.dumps(file, ensure_ascii=False, indent=2) + "\n", "utf-8")


def replaced(value: Any, texts: Mapping[str, str]) -> Any:
    """The value with some of its texts in the place of others."""
    if isinstance(value, dict):
        return {name: replaced(inner, texts) for name, inner in value.items()}
    if isinstance(value, list):
        return [replaced(inner, texts) for inner in value]
    return texts.get(value, value) if isinstance(value, str) else value


def kept(old: Any, new: Any, varies: frozenset[str] | set[str]) -> Any:
    """The new value, but members that vary as they were, if they are still of that type."""
    if isinstance(new, dict) and isinstance(old, dict):
        return {
            name: old[name]
            if name in varies and name in old and type(old[name]) is type(value)
            else kept(old.get(name), value, varies)
            for name, value in new.items()
        }
    if isinstance(new, list) and isinstance(old, list) and len(old) == len(new):
        return [kept(before, after, varies) for before, after in zip(old, new, strict=True)]
    return new


def main() -> int:
    """Refresh the files of the methods named, or all."""
    paths = [FOLDER / f"{name}.json" for name in sys.argv[1:]] or sorted(FOLDER.glob("*.json"))
    # The daemon ends with this one.
    paths.sort(key=lambda path: path.stem == "system.stop")
    with client() as caller:
        for path in paths:
            refresh(path, caller)
    return 0


if __name__ == "__main__":
    sys.exit(main())
