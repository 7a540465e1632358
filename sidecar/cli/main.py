"""`forgetd`: finds the command, runs it, and turns whatever fails into two lines and a code."""

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, Final

import click

from sidecar import __version__
from sidecar.cli.failures import (
    INTERNAL,
    INTERRUPTED,
    PIPE_CLOSED,
    USAGE,
    Failure,
    failure_of,
)
from sidecar.cli.output import prepare_streams
from sidecar.cli.settings import Group, Settings
from sidecar.client import RpcFailure, Unreachable

# The name of a command → its module. Only the module of the command that runs is loaded.
COMMANDS: Final = {
    "serve": "serve",
    "status": "status",
    "get": "get",
    "list": "list",
    "recall": "recall",
    "explain": "explain",
    "thresholds": "thresholds",
    "sweep": "sweep",
    "cycle": "cycle",
    "estimate": "estimate",
    "lifecycle": "lifecycle",
    "simulate": "simulate",
    "restore": "restore",
    "runs": "runs",
    "review": "review",
    "proposals": "proposals",
    "gc": "gc",
    "events": "events",
    "import": "importing",
    "export": "exporting",
    "namespaces": "namespaces",
    "check": "check",
    "rebuild": "rebuild",
    "doctor": "doctor",
    "backup": "backup",
    "config": "configuration",
    "call": "call",
    "stop": "stop",
}

EXIT_CODES: Final = """\b
Exit codes:
  0   done
  1   the answer is negative: nothing found, or something did not come back
  64  the command line or a parameter is wrong
  65  the data or the state does not allow it
  69  no daemon answers
  70  a fault of the daemon or of the command
  71  the daemon cannot start
  73  a directory or socket path is not safe for the daemon
  75  try again later, or when the daemon that is in the way has stopped
  77  not permitted
  78  a setting is wrong, or the data is of a newer version of forgetd
  130 interrupted by Ctrl-C
  141 whoever read the output closed it
"""


class _PipeClosed(Exception):
    """Whoever read standard output has closed it."""


class LazyGroup(Group):
    """The commands in the order of the table above, each loaded when it is needed."""

    def invoke(self, ctx: click.Context) -> Any:
        """As click does it, but a closed pipe is told apart: click would exit with 1."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _PipeClosed from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order in which the help shows them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, or None for a name that nobody has."""
        module = COMMANDS.get(cmd_name)
        if module is None:
            return None
        return importlib.import_module(f"sidecar.cli.{module}").command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it, and tells a mistyped name what it probably meant."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            from sidecar.suggest import remedy_for

            raise click.UsageError(
                f"there is no command {name!r}; {remedy_for(name, COMMANDS)}", ctx
            )
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    epilog=EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="forgetd %(version)s")
@click.pass_context
def command(context: click.Context) -> None:
    """forgetd owns forgetting for the memory of AI agents.

    The options below, up to --json, may stand before or after the command's name.
    """
    context.ensure_object(Settings)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and answer its exit code."""
    prepare_streams()
    try:
        answer: Any = command.main(
            args=None if arguments is None else list(arguments),
            prog_name="forgetd",
            standalone_mode=False,
        )
        sys.stdout.flush()
        return answer if isinstance(answer, int) else 0
    except Failure as failure:
        failure.show()
        return failure.exit_code
    except (RpcFailure, Unreachable) as error:
        failure = failure_of(error)
        failure.show()
        return failure.exit_code
    except click.ClickException as error:
        return _usage(error)
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except (_PipeClosed, BrokenPipeError):
        # Whoever read the output has enough. Nothing may be flushed into the closed pipe later.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except Exception as error:
        return _fault(error)


def _usage(error: click.ClickException) -> int:
    context = getattr(error, "ctx", None)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        print(error.format_message(), file=sys.stderr)
        return USAGE
    path = context.command_path if isinstance(context, click.Context) else "forgetd"
    following = f"see {path} --help"
    if isinstance(error, click.NoSuchOption) and _takes_arguments(context):
        following += f"; what begins with a dash and is no option stands after --: {path} -- -x"
    Failure(error.format_message(), following, USAGE).show()
    return USAGE


def _takes_arguments(context: Any) -> bool:
    return isinstance(context, click.Context) and any(
        isinstance(parameter, click.Argument) for parameter in context.command.params
    )


def _fault(error: Exception) -> int:
    if os.environ.get("FORGETD_TRACEBACK"):
        raise error
    what = f"{type(error).__name__}: {error}"
    Failure(
        f"a fault of the command: {what}",
        "report it with the output of the same command under FORGETD_TRACEBACK=1",
        INTERNAL,
    ).show()
    return INTERNAL


if __name__ == "__main__":
    sys.exit(main())
