"""`forgetd doctor`: look at a state directory that no daemon uses, and mend what can be."""

import click

from sidecar.cli.settings import Command, settings
from sidecar.cli.state_files import namespace_directories, report_findings, stopped_daemon


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
    """Check a state directory while the daemon is stopped, and mend it.

    Reads every byte of every namespace, or of the one named by --namespace, and changes nothing
    unless told to. To look while the daemon runs: forgetd check. Exit code 1 when something is
    wrong, 75 when a daemon uses the directory.
    """
    if accept and reclaim:
        raise click.UsageError("--accept and --reclaim are two steps: do one, look, do the other")
    options = settings()
    from sidecar.store import doctor

    state_dir = options.state_directory()
    directories = namespace_directories(options, state_dir)
    step = doctor.accept if accept else doctor.reclaim if reclaim else doctor.examine
    with stopped_daemon(state_dir):
        found = {directory.name: step(directory) for directory in directories}
    return report_findings(options, found)
