"""`forgetd events`: what happened, one line an event, and following what happens."""

import json
import sys
from collections.abc import Callable, Generator, Iterator
from typing import Any, Final

import click

from sidecar.cli.output import emit_json_line, say, tell
from sidecar.cli.settings import Command, Settings, settings
from sidecar.cli.shown import when
from sidecar.limits import INTEGER_MAX, LIST_LIMIT_MAX

# What a reader of lines does not want to see of a memory's change.
_UNSHOWN: Final = ("contentHash", "changeCounter", "updatedAt")


@click.command(cls=Command)
@click.option(
    "--since",
    type=click.IntRange(0, INTEGER_MAX),
    metavar="N",
    help="Only events after number N. Default: all; with --follow: new ones.",
)
@click.option("--follow", is_flag=True, help="Go on with new events, also after a restart.")
@click.option("--kind", "kinds", multiple=True, help="Only events of this kind; may be repeated.")
def command(since: int | None, follow: bool, kinds: tuple[str, ...]) -> None:
    """Show what happened, in order, one line an event.

    Columns: number, time, kind, memory, run, what changed. With --json each line is an object.

    For example: forgetd events --follow --kind forgetting.braked
    """
    options = settings()
    show = emit_json_line if options.json else _show
    if not follow:
        found = False
        for event in _listed(options, since or 0, kinds):
            found = True
            show(event)
        if not (found or options.json):
            say("no events")
        return
    try:
        _follow(options, since, kinds, show)
    except KeyboardInterrupt:
        return


def _listed(options: Settings, since: int, kinds: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Every event of the log, page by page."""
    while True:
        asked = {"since": since, "limit": LIST_LIMIT_MAX, "kinds": list(kinds) or None}
        page: dict[str, Any] = options.call("events.list", asked)
        yield from page["events"]
        if len(page["events"]) < LIST_LIMIT_MAX:
            return
        since = page["events"][-1]["seq"]


def _follow(
    options: Settings,
    since: int | None,
    kinds: tuple[str, ...],
    show: Callable[[dict[str, Any]], None],
) -> None:
    from sidecar.event_client import RESET, Event
    from sidecar.event_client import follow as following

    if kinds:  # the daemon knows them all, and says so of one that is mistyped
        asked = {"since": INTEGER_MAX, "limit": 1, "kinds": list(kinds)}
        options.call("events.list", asked)
    stream: Generator[Event] = following(
        options.client(),
        options.namespace_name(),
        since,
        when_waiting=lambda error: say(f"waiting for the daemon: {error.message}"),
    )
    for event in stream:
        if event.kind == RESET and options.json:
            show({"kind": RESET, **event.data})
        elif event.kind == RESET:
            say(f"reset: the stream begins anew with event {event.data['oldest']}")
        elif not kinds or event.kind in kinds:
            show(event.data)
        sys.stdout.flush()


def _show(event: dict[str, Any]) -> None:
    changed = " ".join(
        f"{name}={json.dumps(value, ensure_ascii=False, separators=(',', ':'))}"
        for name, value in event["payload"].items()
        if name not in _UNSHOWN
    )
    place = f"{event['seq']:>8}  {when(event['at'])}  {event['kind']:<29}"
    tell(f"{place}  {event['memoryId'] or '-'}  {event['runId'] or '-'}  {changed}".rstrip())
