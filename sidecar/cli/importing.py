"""`forgetd import`: bring another store's memories, or an export, into a namespace.

The whole source is read and checked before the first memory is sent. The command opens the file,
the daemon gets content only.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import click

from sidecar.cli.failures import DATA, NOT_PERMITTED, Failure, failure_of
from sidecar.cli.import_report import Stored, refuse, report, survey_of
from sidecar.cli.progress import Progress, progress
from sidecar.cli.settings import Command, Settings, settings
from sidecar.cli.shown import plural
from sidecar.client import RpcFailure, Unreachable

if TYPE_CHECKING:
    from sidecar.importers.formats import Opened
    from sidecar.importers.items import Item, Record

FORMATS: Final = ("mcp-memory", "naia", "mem0", "jsonl", "forgetd")

# How the daemon names one memory of a call.
_MEMBER: Final = re.compile(r"\$\.memories\[(\d+)\]")


@click.command(cls=Command)
@click.option(
    "--from", "source_format", type=click.Choice(FORMATS), required=True, help="What wrote it."
)
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--skip-bad", is_flag=True, help="Leave out what cannot be stored.")
@click.option(
    "--if-exists",
    type=click.Choice(["skip", "replace", "error"]),
    help="What to do with ids that are there already (default skip).",
)
@click.option(
    "--embedding-model", metavar="NAME", help="What made the vectors of a naia or mem0 store."
)
def command(
    source_format: str,
    file: str,
    skip_bad: bool,
    if_exists: str | None,
    embedding_model: str | None,
) -> None:
    """Import the FILE of another memory store, or an export.

    "-" is standard input. The same file twice changes nothing, and no file is written to.

    \b
    mcp-memory  the file of @modelcontextprotocol/server-memory
    naia        the store file of naia-memory's LocalAdapter
    mem0        the vector file of mem0ai/oss, or its folder, with the history beside it
    jsonl       one memory a line, by the names of memory.put
    forgetd     what `forgetd export` wrote: every memory comes back exactly as it was
    """
    from sidecar.importers.formats import open_format
    from sidecar.importers.source import SourceRefused

    options = settings()
    options.client().is_ready()  # say that no daemon answers before a long file is read
    try:
        with open_format(source_format, file, embedding_model) as opened:
            with progress("checking", opened.size) as advance:
                survey = survey_of(opened, advance)
            if survey.bad_count and not skip_bad:
                refuse(survey)
            with progress("importing", opened.size) as advance:
                sending = _Sending(
                    options, source_format, if_exists or "skip", skip_bad, opened.whole
                )
                stored = sending.send(opened, advance)
    except SourceRefused as refused:
        code = NOT_PERMITTED if refused.permission else DATA
        raise Failure(refused.message, refused.remedy, code) from None
    report(options, survey, stored)


@dataclass
class _Sending:
    options: Settings
    source: str
    if_exists: str
    skip_bad: bool
    whole: bool
    stored: Stored = field(default_factory=Stored)

    def send(self, opened: "Opened", advance: Progress) -> Stored:
        from sidecar.importers.items import chunks

        for chunk in chunks(_records(opened.read())):
            self._send_chunk(chunk)
            advance(opened.done())
        return self.stored

    def _send_chunk(self, chunk: "list[Record]") -> None:
        try:
            answer: dict[str, Any] = self.options.call(
                "memory.import",
                {
                    "memories": [record.memory for record in chunk],
                    "format": "forgetd" if self.whole else None,
                    "ifExists": self.if_exists,
                    "source": self.source,
                    "skipBad": self.skip_bad,
                },
            )
        except (RpcFailure, Unreachable) as error:
            raise self._broken_off(error, chunk) from None
        for name in ("created", "replaced", "skipped", "failed"):
            setattr(self.stored, name, getattr(self.stored, name) + answer[name])
        for refused in answer["errors"]:
            record = chunk[int(refused["index"])]
            message = _MEMBER.sub("$", refused["message"])
            self.stored.errors.append(
                {"line": record.line, "place": record.place, "message": message}
            )

    def _broken_off(self, error: RpcFailure | Unreachable, chunk: "list[Record]") -> Failure:
        failure = failure_of(error)
        done = self.stored.created + self.stored.replaced + self.stored.skipped
        first, last = chunk[0], chunk[-1]
        places = f"lines {first.line} to {last.line}"
        if first.where is not None:
            places = f"{first.place} to {last.place}"
        if found := _MEMBER.search(failure.what):
            places = chunk[int(found[1])].place
        return Failure(
            f"{places}: {_MEMBER.sub('$', failure.what)}; "
            f"{plural(done, 'memory', 'memories')} before that are stored",
            f"{failure.next}; then the same command goes on: what is stored is skipped",
            failure.exit_code,
        )


def _records(items: "Iterator[Item]") -> "Iterator[Record]":
    from sidecar.importers.items import Record

    return (item for item in items if isinstance(item, Record))
