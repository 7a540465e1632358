"""`forgetd rebuild`: make a namespace's database anew from its event log and its payloads."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sidecar.cli.failures import NEGATIVE
from sidecar.cli.output import emit_json, say, tell
from sidecar.cli.settings import Command, Settings, settings
from sidecar.cli.shown import plural
from sidecar.cli.state_files import namespace_directories, stopped_daemon

if TYPE_CHECKING:
    from sidecar.apply.rebuild import Rebuilt


@click.command(cls=Command)
@click.option(
    "--in-place",
    is_flag=True,
    help="Make the result the database of the namespace. The old files are copied into the "
    "namespace's backups directory before.",
)
def command(in_place: bool) -> int:
    """Make databases anew from event log, texts and archive files.

    The daemon must be stopped. Rebuilds every namespace, or the one named by --namespace: fields
    from the event log, places and indexes by reading every payload. Refuses where a memory would
    vanish. Without --in-place the result is left as rebuilt.db beside hot.db, to look at. Exit
    code 1 when it refused, 65 when the event log cannot be read, 75 when a daemon runs.
    """
    options = settings()
    from sidecar.apply.rebuild import rebuild

    state_dir = options.state_directory()
    directories = namespace_directories(options, state_dir)
    with stopped_daemon(state_dir):
        made = {each.name: rebuild(each, in_place=in_place) for each in directories}
    return _report(options, made)


def _report(options: Settings, made: "dict[str, Rebuilt]") -> int:
    done = not any(each.refused for each in made.values())
    if options.json:
        emit_json({"namespaces": {name: _plain(each) for name, each in made.items()}, "ok": done})
        return 0 if done else NEGATIVE
    for name, each in made.items():
        tell(f"namespace {name}: {'refused' if each.refused else 'rebuilt'}")
        for line in _lines(each):
            tell(f"  {line}")
    if not made:
        say("no namespaces here: nothing to rebuild")
    return 0 if done else NEGATIVE


def _lines(each: "Rebuilt") -> list[str]:
    lines = list(each.refused)
    if each.refused:
        lines.append("next: restore a backup; what forgetd check names can be copied from it")
    else:
        same = "the same state as before" if each.before == each.after else "another state"
        lines.append(f"{plural(each.memories, 'memory', 'memories')}, {same}: {each.after}")
    if each.damaged_segments:
        lines.append(f"damaged archive files left out: {', '.join(each.damaged_segments)}")
    if each.unclaimed_texts:
        lines.append(f"{plural(each.unclaimed_texts, 'text')} that no memory claims, left out")
    if each.database and not each.backup:
        lines.append(f"look at {each.database}; to use it: forgetd rebuild --in-place")
    if each.backup:
        lines.append(f"the old files are in {each.backup}")
    return lines


def _plain(each: "Rebuilt") -> dict[str, Any]:
    return {
        "refused": each.refused,
        "stateHashBefore": each.before or None,
        "stateHash": each.after or None,
        "memories": each.memories,
        "damagedSegments": each.damaged_segments,
        "unclaimedTexts": each.unclaimed_texts,
        "database": _path(each.database),
        "backup": _path(each.backup),
    }


def _path(path: Path | None) -> str | None:
    return None if path is None else str(path)
