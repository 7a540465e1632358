"""`forgetd stop`: end the daemon, and wait until it has ended."""

import os
import select
import time
from typing import Any

import click

from sidecar.cli.failures import TRY_AGAIN, Failure
from sidecar.cli.output import emit_json, say
from sidecar.cli.settings import Command, settings
from sidecar.client import Client, Unreachable
from sidecar.limits import DRAIN_SECONDS

WAIT_SECONDS = DRAIN_SECONDS + 40.0  # calls are finished, then every namespace is checkpointed
POLL_SECONDS = 0.05


@click.command(cls=Command)
@click.option("--wait", type=float, default=WAIT_SECONDS, help="Seconds to wait for its end.")
def command(wait: float) -> None:
    """Stop the daemon and wait for its end.

    Calls are finished; a run stops between two transactions and is finished at the next start.
    """
    options = settings()
    client = options.client()
    pid: int = client.call("system.status")["pid"]
    process = _watch(pid)
    answer: Any = client.call("system.stop")
    try:
        ended = _ended(process, client, wait)
    finally:
        if process is not None:
            os.close(process)
    if options.json:
        emit_json(answer)
    if not ended:
        raise Failure(
            f"the daemon (pid {pid}) is still stopping after {wait:g} seconds",
            "wait on, or see its log; a second SIGTERM ends it at once",
            TRY_AGAIN,
        )
    say("stopped")


def _watch(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends, where the system has that."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _ended(process: int | None, client: Client, seconds: float) -> bool:
    if process is not None:
        return bool(select.select([process], [], [], seconds)[0])
    give_up_at = time.monotonic() + seconds
    while time.monotonic() < give_up_at:
        try:
            client.is_ready()
        except Unreachable as unreachable:
            if unreachable.reason in ("no_socket", "refused"):
                return True
        time.sleep(POLL_SECONDS)
    return False
