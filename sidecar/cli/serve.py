"""`forgetd serve`: run the daemon in the foreground."""

import math
import os
from typing import Any

import click

from sidecar.cli.settings import Command, settings
from sidecar.limits import IDLE_EXIT_SECONDS_MAX


class _IdleExit(click.FloatRange):
    """Seconds within the bound. A range alone lets nan through, after which nothing is idle."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        seconds: float = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail(f"{value!r} is not a number of seconds.", param, ctx)
        return seconds


@click.command(cls=Command)
@click.option(
    "--config",
    metavar="FILE",
    help="The configuration file (default: $FORGETD_CONFIG, else forgetd/forgetd.toml in the "
    "user's configuration directory).",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="How much goes to the log on standard error (default info).",
)
@click.option(
    "--allow-injected-clock",
    is_flag=True,
    help="Let callers set the daemon's clock: for tests and demos, not for real memories.",
)
@click.option(
    "--idle-exit",
    type=_IdleExit(min=0, min_open=True, max=IDLE_EXIT_SECONDS_MAX),
    metavar="SECONDS",
    help="End when for so long nobody was connected, and no call or run was under way.",
)
def command(
    config: str | None,
    log_level: str | None,
    allow_injected_clock: bool,
    idle_exit: float | None,
) -> int:
    """Run the daemon until SIGTERM, Ctrl-C or `forgetd stop`.

    Settings come from these options, then the environment, then the configuration file.
    """
    # Read when numpy loads. The threads of a matrix product spin while they wait for each other,
    # and take the cores from the calls that meet one.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from sidecar.daemon.serve import ServeOptions, serve

    options = settings()
    return serve(
        ServeOptions(
            socket=options.socket,
            state_dir=options.state_dir,
            config=config,
            log_level=log_level,
            allow_injected_clock=allow_injected_clock,
            idle_exit_seconds=idle_exit,
        )
    )
