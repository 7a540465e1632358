"""What a namespace stands at, from where it is simulated."""

from typing import TYPE_CHECKING

from sidecar.apply.brake import takings_since
from sidecar.cycle_config import CycleOptions, cycle_settings
from sidecar.limits import BRAKE_WINDOW_MS, MILLISECONDS_PER_HOUR, MILLISECONDS_PER_MINUTE
from sidecar.plan.plan import Snapshot
from sidecar.plan.policies import POLICY_DEFAULT, policy_named
from sidecar.plan.simulate import Standing, Taking, Timer
from sidecar.reports import Pause
from sidecar.settings_book import PAUSE_CLIENT, PAUSE_CLOCK, holds_of
from sidecar.simulating import Start, in_force
from sidecar.simulation_reports import SimulationRequest
from sidecar.thresholds import settings, thresholds_from

if TYPE_CHECKING:
    from sidecar.namespace_runs import NamespaceRuns


def start_of(namespace: "NamespaceRuns", request: SimulationRequest) -> Start:
    """The memories of a namespace now, its settings, and all that holds automatic runs back."""
    book, now = namespace.book, namespace.clock.now_ms()
    snapshot = namespace.touches.folded(namespace.store.columns.snapshot())
    takings = _takings(namespace, snapshot, now)
    paused = {**book.paused}
    if namespace.clock.jumped():
        paused[PAUSE_CLOCK] = None  # as the next automatic run would find
    if namespace.store.writer.latched is not None:
        paused["read_only"] = None
    backoff = {} if namespace.automatic is None else namespace.automatic.backoff
    not_before = book.stage_two_not_before
    if request.thresholds:
        paused.pop(PAUSE_CLIENT, None)
        backoff = {}
        not_before = _after_lowering(namespace, request, now)
    given = {**book.given, **request.thresholds}
    standing = Standing(
        now=now,
        settings=settings(given),
        policy=policy_named(request.policy or POLICY_DEFAULT, namespace.estimator.version),
        timer=_timer(namespace.cycle_options, namespace.cycler.last_run_at()),
        holds=holds_of(paused, not_before, enabled=thresholds_from(given).forget_enabled),
        backoff={stage: (one.until, one.wait_ms) for stage, one in backoff.items()},
        takings=takings,
        forgotten=namespace.store.columns.counts().forgotten,
    )
    return Start(
        namespace.name,
        snapshot,
        standing,
        in_force(book.given, request),
        tuple(
            Pause(reason=reason, until=until)
            for reason, until in sorted(paused.items())
            if until is None or until > now
        ),
    )


def _after_lowering(namespace: "NamespaceRuns", request: SimulationRequest, now: int) -> int | None:
    """Until when stage 2 waits once these thresholds are set: a lower one makes it wait."""
    book = namespace.book
    before, after = book.values, thresholds_from({**book.given, **request.thresholds})
    lower = after.forget_threshold_total < before.forget_threshold_total
    lower |= after.forget_threshold_disk_gb < before.forget_threshold_disk_gb
    if not lower:
        return book.stage_two_not_before
    return now + round(after.lowering_delay_minutes * MILLISECONDS_PER_MINUTE)


def _timer(options: CycleOptions, last_at: int | None) -> Timer | None:
    if not options.enabled:
        return None
    interval_ms = options.interval_hours * MILLISECONDS_PER_HOUR
    return Timer(cycle_settings(options), interval_ms, last_at)


def _takings(namespace: "NamespaceRuns", snapshot: Snapshot, now: int) -> tuple[Taking, ...]:
    """What counts for the brake. What was archived and is not here any more counts to the end."""
    live: set[int] = set(snapshot.rid.tolist())
    with namespace.store.readers.view() as connection:
        return tuple(
            Taking(
                now if one.ended is None else one.ended,
                len(one.forgotten | (one.archived - live)),
                tuple(sorted(one.archived & live)),
            )
            for one in takings_since(connection, now - BRAKE_WINDOW_MS)
        )
