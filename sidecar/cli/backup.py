"""`forgetd backup`: a whole copy of namespaces in a new directory."""

import os
import secrets
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sidecar.cli.failures import DATA, NEGATIVE, Failure
from sidecar.cli.output import emit_json, say, tell
from sidecar.cli.progress import progress
from sidecar.cli.settings import Command, Settings, settings
from sidecar.cli.shown import count, plural
from sidecar.cli.state_files import FOLDER, namespace_directories, store_failures

if TYPE_CHECKING:
    from sidecar.store.backup import BackedUp


@click.command(cls=Command)
@click.argument("directory", type=click.Path(path_type=Path))
@click.option(
    "--link",
    is_flag=True,
    help="Give archive files a second name instead of copying them, where the file system can. "
    "Quick and small, but no help against a failing disk.",
)
def command(directory: Path, link: bool) -> int:
    """Copy every namespace, or the one named by --namespace, into the new DIRECTORY.

    Works while the daemon runs or not, and holds nobody up. The copy is read whole and compared
    before it gets its name; DIRECTORY must not exist. It is a state directory itself: look at it
    with `forgetd check --state-dir DIRECTORY`. Exit code 1 when the copy has the faults that the
    original has, 65 when it could not be made.
    """
    options = settings()
    state_dir = options.state_directory()
    sources = namespace_directories(options, state_dir)
    if not sources:
        raise Failure(f"there are no namespaces in {state_dir}", "name another --state-dir", DATA)
    target = directory.expanduser().absolute()
    _refuse(target, state_dir)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    from sidecar.store.segments import fsync_directory

    with store_failures():
        try:
            made = _copy(sources, temporary, link)
            _refuse(target, state_dir)
            os.rename(temporary, target)
            fsync_directory(target.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return _report(options, target, made)


def _refuse(target: Path, state_dir: Path) -> None:
    if os.path.lexists(target):
        raise Failure(f"{target} exists", "name a directory that does not exist yet", DATA)
    if not target.parent.is_dir():
        raise Failure(f"there is no directory {target.parent}", "make it first", DATA)
    if target.parent.resolve().is_relative_to((state_dir / FOLDER).resolve()):
        raise Failure(
            f"{target} lies among the namespaces of the daemon",
            "name a directory elsewhere, best on another disk",
            DATA,
        )


def _copy(sources: list[Path], temporary: Path, link: bool) -> "dict[str, BackedUp]":
    from sidecar.store.backup import back_up
    from sidecar.store.segments import fsync_directory

    temporary.mkdir(mode=0o700)
    (temporary / FOLDER).mkdir(mode=0o700)
    made: dict[str, BackedUp] = {}
    for source in sources:
        with progress(f"copying {source.name}", _size(source)) as done:
            made[source.name] = back_up(
                source, temporary / FOLDER / source.name, link=link, progress=done
            )
    fsync_directory(temporary / FOLDER)
    fsync_directory(temporary)
    return made


def _size(source: Path) -> int:
    """About how many bytes there are to copy."""
    total = 0
    for folder, _, names in os.walk(source):
        for name in names:
            try:
                total += (Path(folder) / name).lstat().st_size
            except FileNotFoundError:
                continue
    return total


def _report(options: Settings, target: Path, made: "dict[str, BackedUp]") -> int:
    healthy = all(each.findings.ok for each in made.values())
    if options.json:
        told = {name: _plain(each) for name, each in made.items()}
        emit_json({"directory": str(target), "namespaces": told, "ok": healthy})
        return 0 if healthy else NEGATIVE
    for name, each in made.items():
        tell(
            f"{name}: {plural(each.memories, 'memory', 'memories')}, "
            f"{plural(each.segments, 'archive file')}, {plural(each.media, 'media file')}, "
            f"state {each.state_hash}"
        )
        for finding in each.findings.findings:
            if not finding.ok:
                say(f"  {finding.check}: {finding.detail}")
                say(f"    next: {finding.remedy}")
    say(f"saved {count(len(made))} of the namespaces in {target}")
    return 0 if healthy else NEGATIVE


def _plain(each: "BackedUp") -> dict[str, Any]:
    return {
        "stateHash": each.state_hash,
        "memories": each.memories,
        "segments": each.segments,
        "media": each.media,
        "wrong": [
            {"check": finding.check, "detail": finding.detail, "remedy": finding.remedy}
            for finding in each.findings.findings
            if not finding.ok
        ],
    }
