"""What the daemon does by itself, and when: said once at start and after every change."""

from typing import Any

from sidecar.config import Config
from sidecar.limits import (
    NAMESPACE_IDLE_SECONDS,
    SWEEP_DEBOUNCE_SECONDS,
    SWEEP_TIMER_SECONDS,
    TOUCH_FLUSH_SECONDS,
)
from sidecar.thresholds import DEFAULTS


def effective_schedule(config: Config) -> dict[str, Any]:
    """The timers, and the settings that hold where a namespace has none of its own."""
    in_force = {**DEFAULTS, **config.thresholds}
    return {
        "automaticSweep": in_force["forgetEnabled"],
        "sweepDebounceSeconds": SWEEP_DEBOUNCE_SECONDS,
        "sweepTimerSeconds": SWEEP_TIMER_SECONDS,
        "touchFlushSeconds": TOUCH_FLUSH_SECONDS,
        "namespaceIdleSeconds": NAMESPACE_IDLE_SECONDS,
        "standingOrderDays": config.gc.standing_order_days,
        "cycleEnabled": config.cycle_for("").enabled,
        "cycleIntervalHours": config.cycle_for("").interval_hours,
        "thresholds": in_force,
        "namespaces": config.namespaces,
    }
