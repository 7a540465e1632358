"""`forgetd estimate`: estimate importance anew where an older estimator did."""

from typing import Any

import click

from sidecar.cli.output import emit_json, tell
from sidecar.cli.settings import Command, settings
from sidecar.cli.shown import count, plural


@click.command(cls=Command)
@click.option("--apply", is_flag=True, help="Do it; without this it is only counted.")
def command(apply: bool) -> int:
    """Estimate importance anew where an older estimator did.

    A memory keeps the estimate that it was put with, so that a new version of the daemon moves
    nothing by itself. What a host said of importance is never changed, and there is no undo: the
    old estimate is gone. Without --apply nothing changes.
    """
    options = settings()
    report: dict[str, Any] = options.call("estimate.refresh", {"dryRun": not apply})
    if options.json:
        emit_json(report)
        return 0
    done = "" if apply else "would be "
    tell(
        f"{plural(report['refreshed'], 'memory', 'memories')} {done}estimated anew by "
        f"{report['estimatorVersion']}: {count(report['raised'])} higher, "
        f"{count(report['lowered'])} lower"
    )
    if report["damaged"]:
        tell(f"{count(report['damaged'])} are damaged and stay as they are: run forgetd doctor")
    if not apply and report["refreshed"]:
        tell("nothing has changed; do it with forgetd estimate --apply")
    return 0
