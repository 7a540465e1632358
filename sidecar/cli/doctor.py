"""`forgetd doctor`: look at a state directory that no daemon uses, and mend what can be."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sidecar.cli.failures import DATA, NEGATIVE, Failure
from sidecar.cli.output import Column, emit_json, say, table, tell
from sidecar.cli.settings import Command, Settings, settings

if TYPE_CHECKING:
    from sidecar.store.doctor import Findings

_COLUMNS = (Column("check"), Column("state"), Column("detail", wide=True))


@click.command(cls=Command)
@click.option(
    "--accept",
    is_flag=True,
    help="Take a database that lost acknowledged writes as it is now.",
)
@click.option(
    "--reclaim",
    is_flag=True,
    help="Remove unknown archive files, each only after all that it holds was read elsewhere.",
)
def command(accept: bool, reclaim: bool) -> int:
    """Check a state directory while the daemon is stopped.

    Checks every namespace, or the one named by --namespace. Only looks, unless told otherwise.
    Exit code 1 when something is wrong.
    """
    if accept and reclaim:
        raise click.UsageError("--accept and --reclaim are two steps: do one, look, do the other")
    options = settings()
    from sidecar.daemon.lock import lock_state
    from sidecar.errors import ForgetdError, StartError
    from sidecar.store import doctor

    state_dir = options.state_directory()
    directories = _namespace_directories(options, state_dir)
    step = doctor.accept if accept else doctor.reclaim if reclaim else doctor.examine
    try:
        lock = lock_state(state_dir)
        try:
            return _report(options, directories, step)
        finally:
            lock.release()
    except StartError as error:
        raise Failure(error.message, error.remedy, error.exit_code) from None
    except ForgetdError as error:
        remedy = str(error.data.get("remedy", "restore a backup of the namespace"))
        raise Failure(error.message, remedy, error.exit_code) from None


def _report(options: Settings, directories: list[Path], step: "Callable[[Path], Findings]") -> int:
    found = {directory.name: _plain(step(directory)) for directory in directories}
    healthy = all(finding["ok"] for findings in found.values() for finding in findings)
    if options.json:
        emit_json({"namespaces": found, "ok": healthy})
        return 0 if healthy else NEGATIVE
    for name, findings in found.items():
        tell(f"namespace {name}")
        table(_COLUMNS, [_row(finding) for finding in findings])
        for finding in findings:
            if not finding["ok"] and finding["remedy"]:
                tell(f"  {finding['check']}: {finding['remedy']}")
    if not found:
        say("no namespaces here: nothing to check")
    return 0 if healthy else NEGATIVE


def _namespace_directories(options: Settings, state_dir: Path) -> list[Path]:
    from sidecar.registry import FOLDER

    if not state_dir.is_dir():
        raise Failure(f"there is no state directory {state_dir}", "name it by --state-dir", DATA)
    found = sorted(
        database.parent
        for database in (state_dir / FOLDER).glob("*/hot.db")
        if not database.parent.is_symlink()
    )
    if options.namespace is None:
        return found
    named = [each for each in found if each.name.casefold() == options.namespace.casefold()]
    if not named:
        names = ", ".join(each.name for each in found) or "none"
        raise Failure(
            f"there is no namespace {options.namespace} in {state_dir}",
            f"use one that is there: {names}",
            DATA,
        )
    return named


def _plain(findings: "Findings") -> list[dict[str, Any]]:
    return [
        {"check": each.check, "ok": each.ok, "detail": each.detail, "remedy": each.remedy}
        for each in findings.findings
    ]


def _row(finding: dict[str, Any]) -> list[str]:
    return [finding["check"], "ok" if finding["ok"] else "WRONG", finding["detail"]]
