"""Numbers, sizes and times as a person reads them."""

from datetime import UTC, datetime
from typing import Any

from sidecar.limits import GIGABYTE_BYTES


def count(number: int) -> str:
    """1234567 → 1,234,567."""
    return f"{number:,}"


def size(number: int) -> str:
    """Bytes in the decimal units that the thresholds use."""
    value = float(number)
    for unit in ("B", "kB", "MB"):
        if abs(value) < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.2f} GB"


def gigabytes(number: float) -> int:
    """The bytes of a threshold in gigabytes (10^9 bytes)."""
    return round(number * GIGABYTE_BYTES)


def when(milliseconds: int | None) -> str:
    """A stored time in UTC; "-" for none."""
    if milliseconds is None:
        return "-"
    try:
        moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds} ms"  # stored by an import, and no time of this calendar
    return f"{moment:%Y-%m-%d %H:%M:%S}Z"


def duration(seconds: float) -> str:
    """A length of time in its two largest units."""
    whole = int(seconds)
    days, hours, minutes = whole // 86_400, whole // 3_600 % 24, whole // 60 % 60
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"


def number(value: float | None) -> str:
    """A score or strength; "-" where the memory is unscored."""
    return "-" if value is None else f"{value:.4f}"


def setting(value: Any) -> str:
    """The value of a threshold, as it is written to set it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) and value < 1e6 else str(value)


def plural(amount: int, noun: str, several: str | None = None) -> str:
    """1 memory, 2 memories."""
    word = noun if amount == 1 else several or f"{noun}s"
    return f"{count(amount)} {word}"
