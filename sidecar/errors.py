"""The error tree, drawn once. Each class owns its wire code, symbol and exit code.

    ForgetdError
    ├── ProtocolError            the envelope: parse, request, method, params, internal
    ├── ServerError              the daemon's state: overloaded, stopping, too large, ...
    ├── MemoryFault (1xx)        one memory or namespace
    ├── RunFault (2xx)           plans and runs
    ├── GcFault (3xx)            destroying for good
    └── ProposalFault (4xx)      proposals

    StartError                   the daemon cannot start; printed, never on the wire

`data` carries what a caller needs to mend the call: `field` (a JSON path), `bound`, `remedy`.
Nothing in a message or in `data` may hold a file path, SQL, or another namespace's content.
"""

from typing import Any, ClassVar


class ForgetdError(Exception):
    """An error with a wire code. Subclasses set the class variables; never raised itself."""

    code: ClassVar[int] = -32603
    symbol: ClassVar[str] = "internal_error"
    retryable: ClassVar[bool] = False
    exit_code: ClassVar[int] = 70
    default_message: ClassVar[str] = "Internal error"

    def __init__(self, message: str | None = None, **data: Any) -> None:
        self.message = message or self.default_message
        self.data = {name: value for name, value in data.items() if value is not None}
        super().__init__(self.message)

    def to_wire_data(self) -> dict[str, Any]:
        """The `error.data` object: the symbol, whether a retry may help, and the details."""
        return {"symbol": self.symbol, "retryable": self.retryable, **self.data}


class ProtocolError(ForgetdError):
    """The call itself cannot be understood."""

    exit_code = 64


class ParseError(ProtocolError):
    code, symbol, default_message = -32700, "parse_error", "Parse error"


class InvalidRequest(ProtocolError):
    code, symbol, default_message = -32600, "invalid_request", "Invalid Request"


class MethodNotFound(ProtocolError):
    code, symbol, default_message = -32601, "method_not_found", "Method not found"


class InvalidParams(ProtocolError):
    """A parameter is wrong: `field` is its JSON path, `bound` the rule, `remedy` what to do."""

    code, symbol, default_message = -32602, "invalid_params", "Invalid params"

    def __init__(
        self,
        message: str | None = None,
        *,
        field: str | None = None,
        bound: str | None = None,
        remedy: str | None = None,
        **data: Any,
    ) -> None:
        super().__init__(message, field=field, bound=bound, remedy=remedy, **data)


class InternalError(ProtocolError):
    """Ours. The reply says only a correlation id; the log has the rest."""

    code, symbol, default_message, exit_code = -32603, "internal_error", "Internal error", 70


class ServerError(ForgetdError):
    """The daemon cannot serve this call now."""

    exit_code = 75


class Overloaded(ServerError):
    code, symbol, retryable = -32000, "overloaded", True
    default_message = "Too many calls are waiting"


class ShuttingDown(ServerError):
    code, symbol, retryable = -32001, "shutting_down", True
    default_message = "The daemon is stopping"


class TooLarge(ServerError):
    code, symbol, exit_code = -32004, "too_large", 65
    default_message = "The call is larger than the daemon accepts"


class DeadlineExceeded(ServerError):
    """The answer took too long. A run goes on: look it up with `runs.list`."""

    code, symbol, retryable = -32005, "deadline_exceeded", True
    default_message = "The answer took longer than the deadline"


class PermissionDenied(ServerError):
    code, symbol, exit_code = -32007, "permission_denied", 77
    default_message = "The caller may not do this"


class ReadOnly(ServerError):
    code, symbol = -32010, "read_only"
    default_message = "The namespace is read-only"


class DiskFull(ServerError):
    code, symbol, retryable = -32010, "disk_full", True
    default_message = "The disk is full: nothing was stored"


class Corrupt(ServerError):
    code, symbol, exit_code = -32011, "corrupt", 65
    default_message = "Stored data does not match its hash"


class MemoryFault(ForgetdError):
    """One memory or one namespace (1xx)."""

    exit_code = 65


class MemoryNotFound(MemoryFault):
    code, symbol, default_message = 101, "memory_not_found", "No memory has this id"


class MemoryExists(MemoryFault):
    code, symbol, default_message = 102, "memory_exists", "A memory with this id exists"


class RevisionConflict(MemoryFault):
    code, symbol = 103, "revision_conflict"
    default_message = "The memory changed since the revision named"


class SupersessionConflict(MemoryFault):
    code, symbol = 104, "supersession_conflict"
    default_message = "The supersession would make a loop or name the memory itself"


class IdempotencyConflict(MemoryFault):
    code, symbol = 105, "idempotency_conflict"
    default_message = "The idempotency key was used for another call"


class MemoryDestroyed(MemoryFault):
    code, symbol = 106, "memory_destroyed"
    default_message = "The memory with this id was destroyed for good"


class NamespaceNotFound(MemoryFault):
    code, symbol, default_message = 110, "namespace_not_found", "No namespace has this name"


class NamespaceConflict(MemoryFault):
    code, symbol = 111, "namespace_conflict"
    default_message = "A namespace with this name in other letter case exists"


class NamespacesExhausted(MemoryFault):
    code, symbol, retryable = 112, "namespaces_exhausted", True
    default_message = "Too many namespaces are open"


class NamespaceLocked(MemoryFault):
    code, symbol, retryable, exit_code = 113, "namespace_locked", True, 75
    default_message = "Another process has this namespace open"


class SchemaTooNew(MemoryFault):
    code, symbol, exit_code = 114, "schema_too_new", 78
    default_message = "The namespace was written by a newer version of forgetd"


class RunFault(ForgetdError):
    """Plans and runs (2xx)."""

    exit_code = 65


class PlanUnknown(RunFault):
    code, symbol = 201, "plan_unknown"
    default_message = "No plan has this id (plans live in memory and end with the daemon)"


class PlanExpired(RunFault):
    code, symbol, default_message = 202, "plan_expired", "The plan is too old to be applied"


class PlanUsed(RunFault):
    code, symbol, default_message = 203, "plan_used", "The plan was applied already"


class PlanNotApplicable(RunFault):
    code, symbol = 204, "plan_not_applicable"
    default_message = "The plan was made with a time of the caller's and can only be read"


class RunUnknown(RunFault):
    code, symbol, default_message = 205, "run_unknown", "No run has this id"


class RunNotUndoable(RunFault):
    code, symbol, default_message = 206, "run_not_undoable", "The run cannot be undone"


class ForgettingDisabled(RunFault):
    code, symbol = 207, "forgetting_disabled"
    default_message = "Forgetting is switched off for this namespace"


class RunQueueFull(RunFault):
    code, symbol, retryable = 208, "run_queue_full", True
    default_message = "Too many runs wait for this namespace"


class PolicyUnknown(RunFault):
    code, symbol, default_message = 209, "policy_unknown", "No policy has this name"


class ClockNotInjectable(RunFault):
    code, symbol = 210, "clock_not_injectable"
    default_message = "The clock can be set only when serve was started for it"


class GcFault(ForgetdError):
    """Destroying for good (3xx)."""

    exit_code = 65


class GcTokenUnknown(GcFault):
    code, symbol = 301, "gc_token_unknown"
    default_message = "No plan of gc has this token (they live in memory and end with the daemon)"


class GcTokenExpired(GcFault):
    code, symbol, default_message = 302, "gc_token_expired", "The token is too old"


class GcTokenUsed(GcFault):
    code, symbol, default_message = 303, "gc_token_used", "The token was used already"


class GcWrongNamespace(GcFault):
    code, symbol = 304, "gc_wrong_namespace"
    default_message = "The token was made for another namespace"


class GcChanged(GcFault):
    code, symbol = 305, "gc_changed"
    default_message = "The namespace has changed since its deletion was planned"


class GcBusy(GcFault):
    code, symbol, retryable, exit_code = 306, "gc_busy", True, 75
    default_message = "Runs are under way in the namespace"


class ProposalFault(ForgetdError):
    """Proposals (4xx)."""

    exit_code = 65


class ProposalNotFound(ProposalFault):
    code, symbol, default_message = 401, "proposal_not_found", "No proposal has this id"


class ProposalExists(ProposalFault):
    code, symbol, default_message = 402, "proposal_exists", "A proposal with this id exists"


class ProposalDecided(ProposalFault):
    code, symbol, default_message = 403, "proposal_decided", "The proposal was decided already"


class ProposalChanged(ProposalFault):
    code, symbol = 404, "proposal_changed"
    default_message = "The memory that the proposal supersedes has changed since"


class ProposalsFull(ProposalFault):
    code, symbol = 405, "proposals_full"
    default_message = "Too many proposals wait in this namespace"


class StartError(Exception):
    """The daemon cannot start. For the person at the terminal: may name paths, says the remedy."""

    exit_code: ClassVar[int] = 71

    def __init__(self, message: str, remedy: str) -> None:
        self.message = message
        self.remedy = remedy
        super().__init__(f"{message}: {remedy}")


class ConfigError(StartError):
    """A setting is unknown or out of bounds. The message names its origin, key and bound."""

    exit_code = 78


class UnsafeDirectory(StartError):
    """A directory or the thing in the socket's place is not what the daemon may use."""

    exit_code = 73


class AlreadyRunning(StartError):
    """Another daemon holds the socket or the state directory."""

    exit_code = 75


def walk() -> list[type[ForgetdError]]:
    """Every error that can reach the wire, in the order of the tree."""
    found: list[type[ForgetdError]] = []

    def visit(kind: type[ForgetdError]) -> None:
        for child in kind.__subclasses__():
            if "code" in child.__dict__:
                found.append(child)
            visit(child)

    visit(ForgetdError)
    return found
