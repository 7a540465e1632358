"""`forgetd export`: the memories of a namespace as JSON Lines, each with all of its state."""

import hashlib
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

import click

from sidecar import __version__
from sidecar.cli.failures import DATA, NEGATIVE, Failure
from sidecar.cli.new_file import new_file
from sidecar.cli.output import emit_json, json_line, say, tell
from sidecar.cli.progress import WORTH_SHOWING_MEMORIES, Progress, progress
from sidecar.cli.settings import Command, Settings, settings
from sidecar.cli.shown import count, plural

STANDARD_OUTPUT: Final = "-"
TIERS: Final = ("hot", "cold", "forgotten")
MARK: Final = "forgetd"  # the only field of the first and the last line
FORMAT_VERSION: Final = 1
DAMAGED_SHOWN_MAX: Final = 10


@dataclass
class _Lines:
    """Writes lines and remembers what they were."""

    stream: BinaryIO
    records: int = 0
    again: int = 0
    damaged: list[str] = field(default_factory=list[str])
    state_hash: str | None = None
    digest: Any = field(default_factory=hashlib.sha256)

    def write(self, value: Any) -> None:
        """One value as a line."""
        line = json_line(value).encode() + b"\n"
        self.digest.update(line)
        self.stream.write(line)

    def close(self) -> None:
        """The last line: by it a reader knows that the file is whole."""
        self.write(
            {
                MARK: {
                    "records": self.records,
                    "repeated": self.again,
                    "stateHash": self.state_hash,
                    "sha256": self.digest.hexdigest(),
                }
            }
        )


@click.command(cls=Command)
@click.argument("file", type=click.Path(allow_dash=True), default=STANDARD_OUTPUT)
@click.option(
    "--tier",
    "tiers",
    multiple=True,
    type=click.Choice(TIERS),
    help="Only this tier; may be given again (default: all, forgotten memories too).",
)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
def command(file: str, tiers: tuple[str, ...], force: bool) -> int:
    """Export the memories to FILE, or to standard output.

    One memory a line, with every field, its vector, and where it lies; the first and the last line
    are about the export. `forgetd import --from forgetd FILE` brings all back exactly as it is, in
    the same namespace or another. Media files are not in it. Exporting counts as no use.
    """
    options = settings()
    chosen = [tier for tier in TIERS if tier in tiers] or list(TIERS)
    total = _total(options, chosen)
    with (
        _target(file, force) as stream,
        progress("exporting", total, WORTH_SHOWING_MEMORIES) as advance,
    ):
        lines = _Lines(stream)
        _export(options, chosen, lines, advance)
    return _report(options, file, chosen, lines)


def _total(options: Settings, tiers: list[str]) -> int:
    """How many memories there are. Raises Failure where the namespace does not exist."""
    name = options.namespace_name()
    answer: dict[str, Any] = options.call_daemon("namespaces.list")
    for listed in answer["namespaces"]:
        if listed["namespace"] == name:
            return sum(listed[tier] for tier in tiers)
    raise Failure(
        f"there is no namespace {name}", f"see {options.hint('namespaces')} for the names", DATA
    )


@contextmanager
def _target(file: str, force: bool) -> Generator[BinaryIO]:
    if file == STANDARD_OUTPUT:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with new_file(Path(file), force=force) as stream:
        yield stream


def _export(options: Settings, tiers: list[str], lines: _Lines, advance: Progress) -> None:
    lines.write(
        {
            MARK: {
                "export": FORMAT_VERSION,
                "version": __version__,
                "namespace": options.namespace_name(),
                "tiers": tiers,
            }
        }
    )
    cursor: str | None = None
    while True:
        page: dict[str, Any] = options.call("memory.export", {"tiers": tiers, "cursor": cursor})
        for record in page["lines"]:
            lines.write(record)
        lines.records += len(page["lines"])
        lines.again += page["again"]
        lines.damaged += page["damaged"]
        advance(lines.records)
        cursor = page["cursor"]
        if cursor is None:
            lines.state_hash = page["stateHash"]
            break
    lines.close()


def _report(options: Settings, file: str, tiers: list[str], lines: _Lines) -> int:
    if file != STANDARD_OUTPUT and options.json:
        emit_json(
            {
                "file": file,
                "tiers": tiers,
                "records": lines.records,
                "repeated": lines.again,
                "damaged": lines.damaged,
                "stateHash": lines.state_hash,
            }
        )
    elif file != STANDARD_OUTPUT or lines.damaged:
        talk: Callable[[str], None] = say if file == STANDARD_OUTPUT else tell
        done = plural(lines.records, "memory", "memories")
        talk(f"{done} exported from {options.namespace_name()}")
        if lines.state_hash:
            talk(f"state hash {lines.state_hash}")
    for memory_id in lines.damaged[:DAMAGED_SHOWN_MAX]:
        say(f"left out, for it is damaged: {memory_id}")
    if lines.damaged:
        say(f"{count(len(lines.damaged))} damaged in all")
        say("  next: stop the daemon and run `forgetd doctor`")
        return NEGATIVE
    return 0
