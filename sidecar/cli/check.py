"""`forgetd check`: look for faults in the files of namespaces, also beside a running daemon."""

from typing import TYPE_CHECKING

import click

from sidecar.cli.progress import WORTH_SHOWING_MEMORIES, progress
from sidecar.cli.settings import Command, settings
from sidecar.cli.state_files import namespace_directories, report_findings, store_failures

if TYPE_CHECKING:
    from sidecar.store.findings import Findings


@click.command(cls=Command)
@click.option(
    "--read-data",
    is_flag=True,
    help="Read every memory of every tier and compare it with its hash, and each archive file "
    "with its seal. Takes about as long as reading the whole directory.",
)
@click.option(
    "--replay",
    is_flag=True,
    help="Replay the event log and compare the result with the present state.",
)
def command(read_data: bool, replay: bool) -> int:
    """Look for faults in the files, whether the daemon runs or not.

    Reads the state directory itself, changes nothing and holds nobody up. Checks every namespace,
    or the one named by --namespace, and says with each finding what to do. Exit code 0 when
    nothing is wrong, 1 when something is.
    """
    options = settings()
    from sidecar.store.check import Scope, check, count_memories

    directories = namespace_directories(options, options.state_directory())
    scope = Scope(read_data=read_data, replay=replay)
    with store_failures():
        found: dict[str, Findings] = {}
        for directory in directories:
            total = count_memories(directory) if read_data else 0
            with progress(f"reading {directory.name}", total, WORTH_SHOWING_MEMORIES) as done:
                found[directory.name] = check(directory, scope, done)
    return report_findings(options, found)
