"""`forgetd import`: bring another store's file into a namespace.

The whole file is read and checked before the first memory is sent. The command opens the file,
the daemon gets content only.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from sidecar.cli.failures import DATA, NOT_PERMITTED, Failure, failure_of
from sidecar.cli.output import emit_json, say, tell
from sidecar.cli.progress import Progress, progress
from sidecar.cli.settings import Command, Settings, settings
from sidecar.cli.shown import count, plural
from sidecar.client import RpcFailure, Unreachable

if TYPE_CHECKING:
    from sidecar.importers.items import BadLine, Item, Record

FORMATS: Final = ("mcp-memory", "jsonl")
BAD_LINES_SHOWN_MAX: Final = 10
REPORTED_MAX: Final = 1_000

# How the daemon names one memory of a call.
_MEMBER: Final = re.compile(r"\$\.memories\[(\d+)\]")

Reader = Callable[[BinaryIO], "Iterator[Item]"]


@dataclass
class Survey:
    """What the first reading of the file found."""

    records: int = 0
    bad_lines: "list[BadLine]" = field(default_factory=list["BadLine"])
    bad_count: int = 0
    repeated: int = 0
    blank: int = 0
    unknown_types: Counter[str] = field(default_factory=Counter[str])


@dataclass
class Stored:
    """What became of the records that were sent."""

    created: int = 0
    replaced: int = 0
    skipped: int = 0
    failed: int = 0
    errors: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


@click.command(cls=Command)
@click.option(
    "--from", "source_format", type=click.Choice(FORMATS), required=True, help="What wrote it."
)
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--skip-bad", is_flag=True, help="Leave out lines that cannot be stored.")
@click.option(
    "--if-exists",
    type=click.Choice(["skip", "replace", "error"]),
    help="What to do with ids that are there already (default skip).",
)
def command(source_format: str, file: str, skip_bad: bool, if_exists: str | None) -> None:
    """Import the FILE of another memory store.

    "-" is standard input. The same file twice changes nothing.

    mcp-memory is the file of @modelcontextprotocol/server-memory; jsonl has one memory a line,
    by the names of memory.put.
    """
    from sidecar.importers.source import SourceRefused, open_source, source_bytes

    options = settings()
    options.client().is_ready()  # say that no daemon answers before a long file is read
    read = _reader(source_format)
    try:
        with open_source(file) as stream:
            size = source_bytes(stream)
            with progress("checking", size) as advance:
                survey = _survey(read(stream), stream, advance)
            if survey.bad_count and not skip_bad:
                _refuse(survey)
            stream.seek(0)
            with progress("importing", size) as advance:
                sending = _Sending(options, source_format, if_exists or "skip", skip_bad)
                stored = sending.send(read(stream), stream, advance)
    except SourceRefused as refused:
        code = NOT_PERMITTED if refused.permission else DATA
        raise Failure(refused.message, refused.remedy, code) from None
    _report(options, survey, stored)


def _reader(source_format: str) -> Reader:
    from sidecar.importers import jsonl, mcp_memory

    return mcp_memory.read if source_format == "mcp-memory" else jsonl.read


def _survey(items: "Iterator[Item]", stream: BinaryIO, advance: Progress) -> Survey:
    from sidecar.importers.items import BadLine, Record

    survey = Survey()
    for item in items:
        advance(stream.tell())
        if isinstance(item, Record):
            survey.records += 1
        elif isinstance(item, BadLine):
            survey.bad_count += 1
            if len(survey.bad_lines) < REPORTED_MAX:
                survey.bad_lines.append(item)
        elif item.kind == "repeated":
            survey.repeated += 1
        elif item.kind == "blank":
            survey.blank += 1
        else:
            survey.unknown_types[item.detail] += 1
    return survey


@dataclass
class _Sending:
    options: Settings
    source: str
    if_exists: str
    skip_bad: bool
    stored: Stored = field(default_factory=Stored)

    def send(self, items: "Iterator[Item]", stream: BinaryIO, advance: Progress) -> Stored:
        from sidecar.importers.items import Record, chunks

        for chunk in chunks(item for item in items if isinstance(item, Record)):
            self._send_chunk(chunk)
            advance(stream.tell())
        return self.stored

    def _send_chunk(self, chunk: "list[Record]") -> None:
        try:
            report: dict[str, Any] = self.options.call(
                "memory.import",
                {
                    "memories": [record.memory for record in chunk],
                    "ifExists": self.if_exists,
                    "source": self.source,
                    "skipBad": self.skip_bad,
                },
            )
        except (RpcFailure, Unreachable) as error:
            raise self._broken_off(error, chunk) from None
        for name in ("created", "replaced", "skipped", "failed"):
            setattr(self.stored, name, getattr(self.stored, name) + report[name])
        for refused in report["errors"]:
            line = chunk[int(refused["index"])].line
            message = _MEMBER.sub("$", refused["message"])
            self.stored.errors.append({"line": line, "message": message})

    def _broken_off(self, error: RpcFailure | Unreachable, chunk: "list[Record]") -> Failure:
        failure = failure_of(error)
        done = self.stored.created + self.stored.replaced + self.stored.skipped
        lines = f"lines {chunk[0].line} to {chunk[-1].line}"
        if found := _MEMBER.search(failure.what):
            lines = f"line {chunk[int(found[1])].line}"
        return Failure(
            f"{lines}: {_MEMBER.sub('$', failure.what)}; "
            f"{plural(done, 'memory', 'memories')} before that are stored",
            f"{failure.next}; then the same command goes on: what is stored is skipped",
            failure.exit_code,
        )


def _refuse(survey: Survey) -> None:
    for bad in survey.bad_lines[:BAD_LINES_SHOWN_MAX]:
        say(_described(bad))
        say(f"  remedy: {bad.remedy}")
    rest = survey.bad_count - BAD_LINES_SHOWN_MAX
    if rest > 0:
        say(f"and {plural(rest, 'more bad line')}")
    raise Failure(
        f"{plural(survey.bad_count, 'line')} cannot be stored; nothing of the file was",
        "mend them, or import the rest with --skip-bad",
        DATA,
    )


def _described(bad: "BadLine") -> str:
    return f"line {bad.line}: {f'{bad.field} ' if bad.field else ''}{bad.message}"


def _report(options: Settings, survey: Survey, stored: Stored) -> None:
    if options.json:
        emit_json(
            {
                "created": stored.created,
                "replaced": stored.replaced,
                "skipped": stored.skipped,
                "failed": stored.failed,
                "errors": stored.errors,
                "badLines": [
                    {"line": bad.line, "field": bad.field, "message": bad.message}
                    for bad in survey.bad_lines
                ],
                "badLineCount": survey.bad_count,
                "repeated": survey.repeated,
                "blank": survey.blank,
                "unknownTypes": dict(survey.unknown_types),
            }
        )
    else:
        tell(
            f"{count(stored.created)} created, {count(stored.replaced)} replaced, "
            f"{count(stored.skipped)} already there (namespace {options.namespace_name()})"
        )
    for bad in survey.bad_lines[:BAD_LINES_SHOWN_MAX]:
        say(f"left out: {_described(bad)}")
    for error in stored.errors[:BAD_LINES_SHOWN_MAX]:
        say(f"left out: line {error['line']}: {error['message']}")
    left_out = survey.bad_count + stored.failed
    if left_out:
        say(f"{plural(left_out, 'line')} left out")
    if survey.repeated:
        say(f"{plural(survey.repeated, 'memory', 'memories')} repeated in the file, stored once")
    if survey.blank:
        say(f"{plural(survey.blank, 'blank observation')} left out")
    for kind, amount in survey.unknown_types.items():
        say(f"{plural(amount, 'line')} of the unknown type {kind!r} kept as they are")
