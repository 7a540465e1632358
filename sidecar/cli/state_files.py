"""What commands share that read a state directory themselves: its namespaces, the findings."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sidecar.cli.failures import DATA, NEGATIVE, Failure
from sidecar.cli.output import Column, emit_json, say, table, tell
from sidecar.cli.settings import Settings

if TYPE_CHECKING:
    from sidecar.store.findings import Findings

FOLDER: Final = "namespaces"
_COLUMNS = (Column("check"), Column("state"), Column("detail", wide=True))


def namespace_directories(options: Settings, state_dir: Path) -> list[Path]:
    """The directory of the namespace that the options name, else of every one. Raises Failure."""
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


@contextmanager
def stopped_daemon(state_dir: Path) -> Generator[None]:
    """Hold the state directory, so that no daemon uses it. Raises Failure where one does."""
    from sidecar.daemon.lock import lock_state
    from sidecar.errors import StartError

    try:
        lock = lock_state(state_dir)
    except StartError as error:
        raise Failure(error.message, error.remedy, error.exit_code) from None
    try:
        with store_failures():
            yield
    finally:
        lock.release()


@contextmanager
def store_failures() -> Generator[None]:
    """Turn an error of the store into the failure of a command."""
    from sidecar.errors import ForgetdError

    try:
        yield
    except ForgetdError as error:
        remedy = str(error.data.get("remedy", "restore a backup of the namespace"))
        raise Failure(error.message, remedy, error.exit_code) from None
    except OSError as error:
        raise Failure(
            f"a file cannot be read or written ({error.strerror})",
            "look at the disk, and at the owner and mode of the files",
            DATA,
        ) from None


def report_findings(options: Settings, by_namespace: "dict[str, Findings]") -> int:
    """Show what was found in each namespace; the exit code."""
    found = {name: _plain(findings) for name, findings in by_namespace.items()}
    healthy = all(findings.ok for findings in by_namespace.values())
    if options.json:
        emit_json({"namespaces": found, "ok": healthy})
        return 0 if healthy else NEGATIVE
    for name, findings in found.items():
        tell(f"namespace {name}")
        table(_COLUMNS, [_row(finding) for finding in findings])
        for finding in findings:
            if finding["remedy"]:
                tell(f"  {finding['check']}: {finding['remedy']}")
    if not found:
        say("no namespaces here: nothing to check")
    return 0 if healthy else NEGATIVE


def _plain(findings: "Findings") -> list[dict[str, Any]]:
    return [
        {"check": each.check, "ok": each.ok, "detail": each.detail, "remedy": each.remedy}
        for each in findings.findings
    ]


def _row(finding: dict[str, Any]) -> list[str]:
    return [finding["check"], "ok" if finding["ok"] else "WRONG", finding["detail"]]
