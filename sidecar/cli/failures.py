"""Every failure as two lines for the person at the terminal, and an exit code.

    forgetd: what went wrong
      next: what to do about it

The exit codes stand in the help of `forgetd` (`sidecar.cli.main.EXIT_CODES`).
"""

from dataclasses import dataclass
from typing import Final

from sidecar.cli.output import say
from sidecar.client import RpcFailure, Unreachable

NEGATIVE: Final = 1
USAGE: Final = 64
DATA: Final = 65
UNREACHABLE: Final = 69
INTERNAL: Final = 70
TRY_AGAIN: Final = 75
NOT_PERMITTED: Final = 77
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141

_UNREACHABLE_CODES: Final = {
    "permission": NOT_PERMITTED,
    "path_too_long": USAGE,
    "timeout": TRY_AGAIN,
}

_NEW_PLAN: Final = "make a new plan: forgetd sweep --dry-run, cycle --dry-run or lifecycle forget"

# The daemon's remedies speak of methods; where a command does it, the command is named.
_NEXT_COMMAND: Final = {
    "memory_not_found": "see `forgetd list`, and `forgetd list --tier forgotten`",
    "namespace_not_found": "see `forgetd namespaces` for the names",
    "plan_unknown": _NEW_PLAN,
    "plan_expired": _NEW_PLAN,
    "plan_used": "see what it did with `forgetd runs`, or make a new plan",
    "plan_not_applicable": f"{_NEW_PLAN}, without --now",
    "run_unknown": "see `forgetd runs` for the ids",
    "gc_token_unknown": "make a new plan: forgetd gc",
    "gc_token_expired": "make a new plan: forgetd gc",
    "gc_token_used": "see what it did with `forgetd runs`, or make a new plan",
    "gc_wrong_namespace": "name the namespace of the plan with --namespace",
    "gc_changed": "make a new plan: forgetd gc --all",
    "deadline_exceeded": "a run goes on all the same: look with `forgetd runs`",
    "clock_not_injectable": "start the daemon with `forgetd serve --allow-injected-clock`",
}

# What helps where the daemon names no remedy.
_NEXT: Final = {
    "parse_error": "send valid JSON",
    "method_not_found": "see docs/methods.md for the names",
    "internal_error": "look for the correlation id in the daemon's log",
    "overloaded": "call again in a moment",
    "shutting_down": "call again when the daemon is back",
    "too_large": "send fewer memories at once",
    "permission_denied": "call as the user who started the daemon",
    "read_only": "see `forgetd status`; then stop the daemon and run `forgetd doctor`",
    "disk_full": "make room on the disk; the daemon goes on by itself",
    "corrupt": "stop the daemon and run `forgetd doctor`",
    "namespace_conflict": "use the spelling of the namespace that is there",
    "namespaces_exhausted": "call again: idle namespaces close",
    "namespace_locked": "wait for the other process to end, or stop it",
    "schema_too_new": "install the newer version of forgetd again",
    "memory_destroyed": "use another id, or send revive: true",
    "gc_busy": "call again when the runs are done: forgetd runs",
    "proposal_not_found": "see `forgetd proposals list` for the ids",
    "proposal_exists": "see `forgetd proposals list`, or choose another id",
    "proposal_decided": "see how: `forgetd proposals list --status accepted`, or rejected",
    "proposal_changed": "look at the memory by `forgetd get`, then submit it anew, or reject it",
    "proposals_full": "accept or reject some, or forgetd proposals gc",
    "run_not_undoable": "see `forgetd runs show` for its state",
    "run_queue_full": "call again when the runs that wait are done",
}


@dataclass(eq=False)
class Failure(Exception):
    """Ends a command: what went wrong, what to do next, and the exit code."""

    what: str
    next: str
    exit_code: int

    def show(self) -> None:
        """Print both lines on standard error."""
        say(f"forgetd: {self.what}")
        say(f"  next: {self.next}")


def failure_of(error: RpcFailure | Unreachable) -> Failure:
    """An error of the client as a failure of the command."""
    if isinstance(error, Unreachable):
        code = _UNREACHABLE_CODES.get(error.reason, UNREACHABLE)
        return Failure(error.message, error.remedy, code)
    return Failure(
        _what(error),
        _next(error),
        exit_code_of(error.symbol),
    )


def exit_code_of(symbol: str) -> int:
    """The exit code of an error of the wire; an unknown symbol is a fault."""
    from sidecar.errors import walk

    return next((kind.exit_code for kind in walk() if kind.symbol == symbol), INTERNAL)


def _next(error: RpcFailure) -> str:
    told = str(error.data.get("remedy") or "")
    if "forgetd " in told:
        return told
    command = _NEXT_COMMAND.get(error.symbol)
    return command or told or _NEXT.get(error.symbol, "see `forgetd status`")


def _what(error: RpcFailure) -> str:
    what = error.message
    field = error.data.get("field")
    if isinstance(field, str) and field not in what:
        what = f"{field}: {what}"
    detail = error.data.get("detail")
    if isinstance(detail, str) and detail not in what:
        what += f": {detail}"
    bound = error.data.get("bound")
    if isinstance(bound, str) and bound not in what:
        what += f" (allowed: {bound})"
    if correlation := error.data.get("correlationId"):
        what += f" (correlation id {correlation})"
    return what
