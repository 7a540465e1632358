"""What is answered about a namespace's state."""

from typing import TYPE_CHECKING

from sidecar.apply import journal
from sidecar.plan.review import attention_of
from sidecar.reports import NamespaceStatus
from sidecar.review_reports import ReviewRequest
from sidecar.reviewing import Looking
from sidecar.settings_book import PAUSE_BRAKED, PAUSE_CLIENT, PAUSE_CLOCK, PAUSE_UNDO
from sidecar.store import media_trash

if TYPE_CHECKING:
    from sidecar.namespace_runs import NamespaceRuns

PAUSE_TEXTS = {
    PAUSE_UNDO: "a run was undone: automatic runs wait for thresholds.resume",
    PAUSE_CLOCK: "the clock jumped or stands before the last event: automatic runs wait for "
    "thresholds.resume",
    PAUSE_CLIENT: "a client opened the namespace with forgetEnabled false: automatic runs wait "
    "for thresholds.set",
    PAUSE_BRAKED: "the brake stopped automatic forgetting for the rest of its day",
}


def status_of(namespace: "NamespaceRuns") -> NamespaceStatus:
    """The state of an open namespace. Reads everything, changes nothing."""
    store, now = namespace.store, namespace.clock.now_ms()
    snapshot = store.columns.snapshot()
    attention = attention_of(snapshot, now)
    with store.readers.view() as connection:
        last = journal.summaries(connection, 1)
        review = Looking(connection, attention, ReviewRequest(), now).counts()
    latched = store.writer.latched
    read_only = store.findings.read_only or (latched.message if latched else None)
    return NamespaceStatus(
        namespace=namespace.name,
        counts=namespace.runner.tier_counts(),
        thresholds=namespace.book.report(namespace.name, store.columns.counts(), now),
        read_only=read_only,
        unscored=len(attention.unscored),
        corrupt=len(store.findings.corrupt_ids),
        unknown_segments=store.findings.unknown_segments,
        running=namespace.runner.running,
        last_run=last[0] if last else None,
        alarms=_alarms(namespace, now),
        review=review,
    )


def _alarms(namespace: "NamespaceRuns", now: int) -> list[str]:
    store = namespace.store
    findings = store.findings
    alarms: list[str] = []
    for reason, until in namespace.book.paused.items():
        if until is None or until > now:
            alarms.append(PAUSE_TEXTS[reason])
    if findings.read_only or store.writer.latched:
        alarms.append("read-only: nothing can be written; run forgetd doctor")
    if findings.damaged_segments or findings.missing_segments:
        count = len(findings.damaged_segments) + len(findings.missing_segments)
        alarms.append(f"{count} segments are damaged or missing; run forgetd doctor")
    if findings.corrupt_ids:
        count = len(findings.corrupt_ids)
        alarms.append(f"memories found damaged and left out: {count}; run forgetd doctor")
    if findings.unknown_segments:
        alarms.append(
            f"{len(findings.unknown_segments)} sealed segments are not known; "
            "run forgetd doctor --reclaim"
        )
    if findings.adopted:
        alarms.append(f"{findings.adopted} memories were taken back from segments at start")
    if problem := namespace.runner.media.problem:
        with store.readers.borrow() as connection:
            count = media_trash.waiting(connection)
        alarms.append(f"media files wait to follow their memories: {count}; {problem}")
    if namespace.automatic is not None and namespace.automatic.alarm:
        alarms.append(namespace.automatic.alarm)
    return alarms
