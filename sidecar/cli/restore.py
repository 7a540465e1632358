"""`forgetd restore`: bring forgotten memories back."""

from typing import Any

import click

from sidecar.cli.failures import NEGATIVE
from sidecar.cli.output import emit_json
from sidecar.cli.report import show_restore
from sidecar.cli.settings import Command, settings

# Any other result means that the memory is back, whatever is believed of it.
NOT_BACK = frozenset({"unknown", "destroyed", "conflict", "changed"})


@click.command(cls=Command)
@click.argument("ids", nargs=-1)
@click.option("--run", "run_id", metavar="RUN", help="All that this run forgot.")
@click.option("--reason", help="All that was forgotten for this reason.")
def command(ids: tuple[str, ...], run_id: str | None, reason: str | None) -> int:
    """Bring forgotten memories back.

    By IDS, by run, or by reason. Exit code 1 when one did not come back.
    """
    if (bool(ids), run_id is not None, reason is not None).count(True) != 1:
        raise click.UsageError("name what to restore: IDS…, or --run RUN, or --reason REASON")
    options = settings()
    report: dict[str, Any] = options.call(
        "memory.restore", {"ids": list(ids) or None, "runId": run_id, "reason": reason}
    )
    if options.json:
        emit_json(report)
    else:
        show_restore(report)
    missing = any(report["counts"].get(result) for result in NOT_BACK)
    return NEGATIVE if missing or not any(report["counts"].values()) else 0
