"""The settings of one namespace: where each comes from, and what holds automatic runs back.

Order of precedence: the config file, then `thresholds.set`, then the options with which the
namespace was opened first, then the defaults. What is written here lives in the meta table.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from sidecar.errors import ForgettingDisabled
from sidecar.limits import MILLISECONDS_PER_MINUTE
from sidecar.plan.detector import ENDLESS, Holds, crossed_thresholds
from sidecar.plan.plan import CascadeSettings, Counts
from sidecar.reports import Pause, ThresholdsReport, ThresholdValue
from sidecar.store import events
from sidecar.store.sqlite.typed import Connection
from sidecar.store.sqlite.writer import Transaction
from sidecar.thresholds import DEFAULTS, Thresholds, Value, settings, thresholds_from

# Why automatic runs stand still. `braked` holds back only stage 2.
PAUSE_UNDO: Final = "undo"
PAUSE_CLOCK: Final = "clock"
PAUSE_CLIENT: Final = "client_disabled"
PAUSE_BRAKED: Final = "braked"


class SettingsBook:
    """The settings in force. Read by any thread; written by jobs of the writer."""

    def __init__(self, connection: Connection, config: Mapping[str, Value]) -> None:
        """`config` is what the operator ordered for this namespace, by wire name."""
        self._config: dict[str, Value] = dict(config)
        self.reload(connection)

    def reload(self, connection: Connection) -> None:
        """Take what the database holds (at open, and after a write that failed)."""
        self._open: dict[str, Value] = _read(connection, "thresholds_open") or {}
        self._set: dict[str, Value] = _read(connection, "thresholds_set") or {}
        self.paused: dict[str, int | None] = _read(connection, "paused") or {}
        self.stage_two_not_before: int | None = _read(connection, "stage_two_not_before")
        self._known_bounds: dict[str, Value] | None = _read(connection, "stage_two_bounds")
        # What the bounds were before the lowering that automatic runs wait for.
        self._bounds_before_lowering: dict[str, Value] | None = _read(
            connection, "bounds_before_lowering"
        )

    @property
    def changed_unnoticed(self) -> bool:
        """Whether a bound of stage 2 is not the one it was when this was last written."""
        return self._known_bounds != self._bounds()

    @property
    def given(self) -> dict[str, Value]:
        """The options that are not left to the defaults."""
        return self._open | self._set | self._config

    @property
    def values(self) -> Thresholds:
        """Every option in force."""
        return thresholds_from(self.given)

    def refuse_if_disabled(self) -> None:
        """Raise ForgettingDisabled where forgetting is switched off for the namespace."""
        if not self.values.forget_enabled:
            raise ForgettingDisabled(
                bound="forgetEnabled: true",
                remedy="set it by thresholds.set, or forgetd thresholds set forgetEnabled=true;"
                " dry runs still plan",
            )

    def cascade(self, brake_share: float | None = None) -> CascadeSettings:
        """What bounds a sweep now."""
        return settings(self.given, brake_share)

    def wire_values(self) -> dict[str, Value]:
        """Every option in force by wire name."""
        return DEFAULTS | self.given

    def origin(self, name: str) -> Any:
        """Where the option in force comes from."""
        for origin, layer in (("config", self._config), ("set", self._set), ("open", self._open)):
            if name in layer:
                return origin
        return "default"

    def differing(self, wanted: Mapping[str, Value | None]) -> dict[str, Value]:
        """The options in force that are not what a client wanted."""
        in_force = self.wire_values()
        return {
            name: in_force[name]
            for name, value in wanted.items()
            if value is not None and in_force[name] != value
        }

    def crossed(self, counts: Counts) -> list[str]:
        """The thresholds that the counts are strictly above; constant time."""
        return [*crossed_thresholds(counts, self.cascade())]

    def report(self, namespace: str, counts: Counts, now: int) -> ThresholdsReport:
        """The answer of thresholds.get. What was to be waited for and is past is not told."""
        waiting = (self.stage_two_not_before or 0) > now
        return ThresholdsReport(
            namespace=namespace,
            thresholds={
                name: ThresholdValue(value=value, origin=self.origin(name))
                for name, value in self.wire_values().items()
            },
            crossed=self.crossed(counts),
            paused=[
                Pause(reason=reason, until=until)
                for reason, until in sorted(self.paused.items())
                if until is None or until > now
            ],
            stage_two_not_before=self.stage_two_not_before if waiting else None,
        )

    def open_with(self, tx: Transaction, wanted: Mapping[str, Value | None], now: int) -> None:
        """Take a client's options as those of a namespace that has just been made."""
        self._open = {name: value for name, value in wanted.items() if value is not None}
        _write(tx, "thresholds_open", self._open)
        events.append(tx.connection, now, "thresholds.changed", None, dict(self._open))
        self._known_bounds = None
        self.notice_bounds(tx, now)

    def set(self, tx: Transaction, values: Mapping[str, Value | None], now: int) -> None:
        """Set options; None takes one back to what it would be without."""
        for name, value in values.items():
            if value is None:
                self._set.pop(name, None)
                self._open.pop(name, None)
            else:
                self._set[name] = value
        _write(tx, "thresholds_set", self._set)
        _write(tx, "thresholds_open", self._open)
        events.append(tx.connection, now, "thresholds.changed", None, dict(values))
        self.notice_bounds(tx, now)
        if PAUSE_CLIENT in self.paused:
            self.resume(tx, (PAUSE_CLIENT,), now)

    def reconfigure(self, tx: Transaction, config: Mapping[str, Value], now: int) -> None:
        """Take over what the config file orders now."""
        self._config = dict(config)
        self.notice_bounds(tx, now)

    def pause(self, tx: Transaction, reason: str, until: int | None, now: int) -> None:
        """Hold automatic runs back, until a time or until they are resumed."""
        self.paused[reason] = until
        _write(tx, "paused", self.paused)
        payload = {"reason": reason, "until": until}
        events.append(tx.connection, now, "forgetting.paused", None, payload)

    def resume(self, tx: Transaction, reasons: tuple[str, ...] | None, now: int) -> None:
        """Lift the pauses named, or all of them, and the delay after a lowering."""
        lifted = [reason for reason in self.paused if reasons is None or reason in reasons]
        for reason in lifted:
            del self.paused[reason]
        _write(tx, "paused", self.paused)
        if reasons is None:
            self.stage_two_not_before = self._bounds_before_lowering = None
            _write(tx, "stage_two_not_before", None)
            _write(tx, "bounds_before_lowering", None)
        if lifted or reasons is None:
            events.append(tx.connection, now, "forgetting.resumed", None, {"reasons": lifted})

    def holds(self) -> Holds:
        """Until when automatic runs stand still."""
        enabled = self.values.forget_enabled
        return holds_of(self.paused, self.stage_two_not_before, enabled=enabled)

    def automatic_allowed(self, now: int) -> bool:
        """Whether automatic runs may start at all."""
        return self.holds().allow(now)

    def will_be_swept(self, counts: Counts) -> bool:
        """Whether an automatic run is due, or will be once a pause that has an end is over."""
        endless = any(
            until is None for reason, until in self.paused.items() if reason != PAUSE_BRAKED
        )
        return self.values.forget_enabled and not endless and bool(self.crossed(counts))

    def stage_two_allowed(self, now: int) -> bool:
        """Whether an automatic run may forget."""
        return self.holds().allow_forgetting(now)

    def notice_bounds(self, tx: Transaction, now: int) -> None:
        """Take the bounds of stage 2 as known. A lower one makes automatic runs wait.

        The ones known before are stored: a file that was changed while the daemon was away
        lowers a bound just the same.
        """
        before, after = self._known_bounds, self._bounds()
        if before == after:
            return
        self._known_bounds = after
        _write(tx, "stage_two_bounds", after)
        if before is None:
            return
        if all(after[name] >= before[name] for name in after):
            self._stop_waiting_if_raised(tx, after)
            return
        if self._bounds_before_lowering is None or (self.stage_two_not_before or 0) <= now:
            self._bounds_before_lowering = before
            _write(tx, "bounds_before_lowering", before)
        delay = round(self.values.lowering_delay_minutes * MILLISECONDS_PER_MINUTE)
        self.stage_two_not_before = now + delay
        _write(tx, "stage_two_not_before", self.stage_two_not_before)
        payload = {"notBefore": self.stage_two_not_before}
        events.append(tx.connection, now, "forgetting.scheduled", None, payload)

    def _stop_waiting_if_raised(self, tx: Transaction, after: dict[str, Value]) -> None:
        """A lowering that was taken back is none: nothing is left to wait for."""
        first = self._bounds_before_lowering
        if first is not None and all(after[name] >= first[name] for name in after):
            self.stage_two_not_before = self._bounds_before_lowering = None
            _write(tx, "stage_two_not_before", None)
            _write(tx, "bounds_before_lowering", None)

    def _bounds(self) -> dict[str, Value]:
        values = self.values
        return {"total": values.forget_threshold_total, "disk": values.forget_threshold_disk_gb}


def holds_of(
    paused: Mapping[str, int | None], stage_two_not_before: int | None, *, enabled: bool
) -> Holds:
    """What pauses (by reason, until when in ms) and the delay after a lowering hold back.

    `enabled`: whether forgetting is switched on at all.
    """
    until = {reason: ENDLESS if end is None else end for reason, end in list(paused.items())}
    braked_until = until.pop(PAUSE_BRAKED, 0)
    return Holds(
        paused_until=max(until.values(), default=0) if enabled else ENDLESS,
        braked_until=braked_until,
        stage_two_not_before=stage_two_not_before or 0,
    )


def _read(connection: Connection, key: str) -> Any:
    found = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchall()
    return msgspec.json.decode(found[0][0]) if found else None


def _write(tx: Transaction, key: str, value: object) -> None:
    tx.connection.execute(
        "INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, msgspec.json.encode(value).decode())
    )
