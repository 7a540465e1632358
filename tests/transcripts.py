"""Carries out the transcripts of protocol/conformance/ against a daemon.

The format is described in protocol/conformance/README.md; the TypeScript tests read the same
files with a reader of their own.
"""

import http.client
import json
import math
import re
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.contract_judge import WATCH
from tests.sources import ROOT

FOLDER = ROOT / "protocol" / "conformance"
# In this order: the last section of the last file stops the daemon.
FILES = ("specification", "limits", "errors", "methods")
START_MS = 1_767_225_600_000
SECONDS_MAX = 60.0

Line = dict[str, Any]

VARIABLE = re.compile(r"\$\{(\w+)\}")
TYPES: dict[str, Callable[[Any], bool]] = {
    "<any>": lambda value: True,
    "<string>": lambda value: isinstance(value, str),
    "<boolean>": lambda value: isinstance(value, bool),
    "<number>": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "<integer>": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "<array>": lambda value: isinstance(value, list),
    "<object>": lambda value: isinstance(value, dict),
}
REST = "..."


@dataclass
class Section:
    """Lines that stand on nothing but each other."""

    file: str
    title: str
    lines: list[Line] = field(default_factory=list[Line])


def sections() -> list[Section]:
    """Every section of every file, in the order in which they are carried out."""
    found: list[Section] = []
    for name in FILES:
        for text in (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines():
            line = json.loads(text)
            if "section" in line:
                found.append(Section(name, line["section"]))
            else:
                found[-1].lines.append(line)
    return found


def carry_out(section: Section, path: Path, namespace: str) -> Iterator[tuple[Line, Any]]:
    """Send each line and compare; yields the line and the reply. Raises AssertionError."""
    known = {"NAMESPACE": namespace}
    hold = {"namespace": namespace, "now": START_MS}
    post(path, json.dumps({"jsonrpc": "2.0", "id": 0, "method": "system.clock", "params": hold}))
    for number, line in enumerate(section.lines, 1):
        where = f"{section.file}, {section.title}, line {number}"
        status, reply = post(path, body_of(line, known), line.get("headers", {}))
        assert status == line.get("status", 204 if line.get("expect") is None else 200), where
        compare(filled(line.get("expect"), known), reply, where)
        for name, at in line.get("save", {}).items():
            known[name] = found_at(reply, at)
        yield line, reply


def post(path: Path, body: str, headers: Mapping[str, str] | None = None) -> tuple[int, Any]:
    """The status and the JSON of one POST /rpc; None for an empty body."""
    connection = http.client.HTTPConnection("localhost", timeout=SECONDS_MAX)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.settimeout(SECONDS_MAX)
    connection.sock.connect(str(path))
    try:
        given = {"content-type": "application/json", **(headers or {})}
        connection.request("POST", "/rpc", body.encode(), given)
        response = connection.getresponse()
        text = response.read()
        WATCH.see(body.encode(), text)
        return response.status, json.loads(text) if text else None
    finally:
        connection.close()


def body_of(line: Line, known: Mapping[str, Any]) -> str:
    """The text to send: `text` as it is, or `send` as JSON."""
    if "text" in line:
        return str(filled(line["text"], known))
    return json.dumps(filled(line["send"], known), ensure_ascii=False)


def filled(value: Any, known: Mapping[str, Any]) -> Any:
    """The value with its variables and its abbreviations written out."""
    if isinstance(value, dict):
        if "$repeat" in value:
            return filled(value["$repeat"], known) * value["times"]
        if "$nest" in value:
            nested: Any = 0
            for _ in range(value["$nest"]):
                nested = [nested]
            return nested
        return {name: filled(inner, known) for name, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, known) for inner in value]
    if not isinstance(value, str):
        return value
    return VARIABLE.sub(lambda match: str(known[match[1]]), value)


def compare(expected: Any, found: Any, where: str) -> None:
    """Raise AssertionError unless the pattern covers what was found."""
    if isinstance(expected, str) and expected in TYPES:
        assert TYPES[expected](found), f"{where}: {found!r} is no {expected}"
    elif isinstance(expected, dict):
        assert isinstance(found, dict), f"{where}: {found!r} is no object"
        named = {name: value for name, value in expected.items() if name != REST}
        missing, more = named.keys() - found.keys(), found.keys() - named.keys()
        assert not missing, f"{where}: {sorted(missing)} missing in {found}"
        assert REST in expected or not more, f"{where}: {sorted(more)} not expected in {found}"
        for name, value in named.items():
            compare(value, found[name], f"{where}.{name}")
    elif isinstance(expected, list):
        assert isinstance(found, list), f"{where}: {found!r} is no array"
        more_allowed = expected[-1:] == [REST]
        shown = expected[:-1] if more_allowed else expected
        fits = len(found) >= len(shown) if more_allowed else len(found) == len(shown)
        assert fits, f"{where}: {len(found)} elements, not {len(shown)}: {found}"
        for index, value in enumerate(shown):
            compare(value, found[index], f"{where}[{index}]")
    elif TYPES["<number>"](expected) and TYPES["<number>"](found):
        assert math.isclose(expected, found, rel_tol=1e-9), f"{where}: {found}, not {expected}"
    else:
        assert type(expected) is type(found), f"{where}: {found!r}, not {expected!r}"
        assert expected == found, f"{where}: {found!r}, not {expected!r}"


def found_at(reply: Any, path: str) -> Any:
    """The value at a path as `$.result.results[0].id`."""
    for name, index in re.findall(r"\.(\w+)|\[(\d+)\]", path):
        reply = reply[name] if name else reply[int(index)]
    return reply
