"""`forgetd serve`: run the daemon in the foreground."""

import click

from sidecar.cli.settings import Command, settings


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
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="End when nobody has been connected for so long.",
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
