"""What the brake counts, read from the ledger: the decisions, not the rows, which may be gone."""

import json
from collections.abc import Iterator
from typing import Final, NamedTuple

from sidecar.apply import journal
from sidecar.apply.journal import MOVED
from sidecar.apply.moves import POLICY_RUNS
from sidecar.model import FORGOTTEN
from sidecar.plan.plan import ARCHIVE, FORGET, Brake
from sidecar.reports import BrakeReport
from sidecar.store.sqlite.typed import Connection

# Of the rows that a run forgot, those that are back: live, or forgotten once more by another run.
_BACK: Final = (
    "SELECT rid FROM memories WHERE rid IN (SELECT value FROM json_each(?))"
    f" AND (tier <> {FORGOTTEN} OR moved_run <> ?)"
)
# Of the rows that a run archived, those that are believed again.
_BELIEVED: Final = (
    "SELECT rid FROM memories WHERE rid IN (SELECT value FROM json_each(?))"
    " AND archived_run IS NOT ?"
)


class Window(NamedTuple):
    """How many memories count for the brake, and when the first run that took any ended, ms.

    `archived` of the `forgotten` were only archived, and are live. `oldest` is None where nothing
    counts, or only what a run took that has not ended.
    """

    forgotten: int
    archived: int
    oldest: int | None


class Taking(NamedTuple):
    """What one run took that counts, row by row, and when it ended (ms)."""

    ended: int | None
    forgotten: set[int]
    archived: set[int]


def brake_report(brake: Brake) -> BrakeReport:
    """What a plan's brake allowed, as reports tell it."""
    return BrakeReport(
        share=brake.share,
        forgotten_in_window=brake.forgotten_in_window,
        allowed=brake.allowed,
        engaged=brake.engaged,
    )


def window_since(connection: Connection, since: int) -> Window:
    """What runs of a policy that ended after `since` (ms), or have not ended, forgot or archived.

    A memory counts once, until it is back by a restore, an undo or a write. One that was
    destroyed counts on, or destroying would let more go the same day. What a run did before it
    was cut short counts from when it was finished, and until then. What a host forgets or
    archives counts nothing.
    """
    forgotten, archived = 0, 0
    oldest: int | None = None
    for taking in takings_since(connection, since):
        forgotten += len(taking.forgotten) + len(taking.archived)
        archived += len(taking.archived)
        if taking.ended is not None:
            oldest = taking.ended if oldest is None else min(oldest, taking.ended)
    return Window(forgotten, archived, oldest)


def takings_since(connection: Connection, since: int) -> Iterator[Taking]:
    """Of each run that counts, as `window_since` says: what it took, newest run first.

    What was archived and then forgotten by a run counts with that run.
    """
    seen: set[int] = set()
    for run_id, kind, ended in _runs_since(connection, since):
        gone = _taken(connection, run_id, FORGET, _BACK) if kind in POLICY_RUNS else set[int]()
        aside = set[int]()
        if kind == "lifecycle":
            aside = _taken(connection, run_id, ARCHIVE, _BELIEVED) - seen
        seen |= gone
        if gone or aside:
            yield Taking(ended, gone, aside)


def _runs_since(connection: Connection, since: int) -> Iterator[tuple[str, str, int | None]]:
    """The runs of the window, newest first: they come one after the other, and so they end."""
    query = "SELECT run_id, kind, finished_at FROM runs ORDER BY run_id DESC"
    for run_id, kind, ended in connection.execute(query):
        if ended is not None and ended <= since:
            return
        yield run_id, kind, ended


def _taken(connection: Connection, run_id: str, action: int, back: str) -> set[int]:
    """The rows that a run has taken by this action and that are not back."""
    decisions, outcomes = journal.all_decisions(connection, run_id)
    taken: set[int] = set(
        decisions["rid"][(outcomes == MOVED) & (decisions["action"] == action)].tolist()
    )
    if taken:
        found = connection.execute(back, (json.dumps(sorted(taken)), run_id))
        taken.difference_update(rid for (rid,) in found.fetchall())
    return taken
