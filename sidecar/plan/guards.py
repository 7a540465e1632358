"""What keeps a memory from being forgotten, whatever the pressure.

Each row of a snapshot gets one byte: a bit for each kind of PROTECTIONS, in that order. Where
several hold, a report names the first.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from sidecar.limits import FUTURE_TOLERANCE_MS, MILLISECONDS_PER_DAY, TIME_MIN_MS
from sidecar.plan.chains import Chains
from sidecar.plan.plan import (
    ARCHIVE,
    FORGET,
    PROTECTIONS,
    REASON_CODE,
    SPILL,
    Bool,
    CascadeSettings,
    Protection,
    Snapshot,
    UInt8,
)

PROTECTION_BIT: Final[dict[Protection, int]] = {
    kind: 1 << place for place, kind in enumerate(PROTECTIONS)
}
STAYS_HOT: Final = PROTECTION_BIT["pinned"]
SPILLED_LAST: Final = (
    PROTECTION_BIT["newborn"] | PROTECTION_BIT["restored"] | PROTECTION_BIT["unscored"]
)

# The place in PROTECTIONS of the lowest bit of each byte that is not zero.
_FIRST: Final = np.array(
    [(byte & -byte).bit_length() - 1 for byte in range(1 << len(PROTECTIONS))], dtype=np.int64
)


def protections_of(
    snapshot: Snapshot, scored: Bool, chains: Chains, settings: CascadeSettings, now: int
) -> UInt8:
    """The protections of every row at `now` (ms), as bits.

    A head is protected while an older version is live, and for `newborn_days` after the last
    one was forgotten: what a run leaves standing, the same run repeated leaves standing too.
    """
    newborn_ms = settings.newborn_days * MILLISECONDS_PER_DAY
    grace_ms = settings.restore_grace_days * MILLISECONDS_PER_DAY
    lately_alone = chains.predecessor_gone_at > 0
    lately_alone &= chains.predecessor_gone_at >= now - newborn_ms
    masks: dict[Protection, Bool] = {
        "pinned": snapshot.pinned,
        "held": snapshot.held_until > now,
        "evergreen": snapshot.evergreen,
        "head": (chains.has_predecessor | lately_alone) & ~chains.in_force,
        "newborn": (now - snapshot.created_at < newborn_ms)
        & (snapshot.created_at <= now + FUTURE_TOLERANCE_MS),
        "restored": (snapshot.restored_at > 0) & (now - snapshot.restored_at < grace_ms),
        "unscored": ~scored,
    }
    bits = np.zeros(len(snapshot), dtype=np.uint8)
    for kind, mask in masks.items():
        bits |= mask.astype(np.uint8) * np.uint8(PROTECTION_BIT[kind])
    return bits


def protection_names(bits: int) -> list[Protection]:
    """The kinds in one byte of `protections_of`."""
    return [kind for kind in PROTECTIONS if bits & PROTECTION_BIT[kind]]


def first_kinds(bits: UInt8) -> UInt8:
    """The place in PROTECTIONS of the kind that a report names, of rows that have one."""
    return _FIRST[bits].astype(np.uint8)


def count_by_first_kind(bits: UInt8) -> dict[str, int]:
    """How many rows each kind keeps. A row under several kinds counts once, for the first."""
    counts = np.bincount(_FIRST[bits[bits > 0]], minlength=len(PROTECTIONS))
    return {kind: int(n) for kind, n in zip(PROTECTIONS, counts, strict=True) if n}


@dataclass(frozen=True, slots=True)
class CurrentState:
    """What protects one memory, read in the transaction that would move it. Absent times are 0.

    The last two are the answers of `chains.newer_version_stands` and `older_version_lives`:
    they can change without any change to the memory itself.
    """

    pinned: bool
    evergreen: bool
    held_until: int
    created_at: int
    restored_at: int
    newer_version_stands: bool
    older_version_lives: bool


def recheck(
    state: CurrentState,
    action: int,
    reason: int,
    settings: CascadeSettings,
    now: int,
    *,
    forced: bool = False,
) -> Protection | None:
    """The protection that forbids this decision at `now` (ms), or None: it may be carried out.

    `action` and `reason` are the decision's codes. A memory that was to go as an older version
    and has no newer one any more is its chain's head. Whatever else could make a memory
    unscored changes its change counter, which is compared first. `forced`: a cycle's prune that
    does not wait for a memory to be older than newborn.
    """
    if action == SPILL:
        return "pinned" if state.pinned else None
    if action not in (FORGET, ARCHIVE):
        return None
    if state.pinned:
        return "pinned"
    if state.held_until > now:
        return "held"
    if state.evergreen:
        return "evergreen"
    was_superseded = reason == REASON_CODE["superseded"]
    if not state.newer_version_stands and (was_superseded or state.older_version_lives):
        return "head"
    if not TIME_MIN_MS <= state.created_at <= now + FUTURE_TOLERANCE_MS:
        return "unscored"
    if not forced and now - state.created_at < settings.newborn_days * MILLISECONDS_PER_DAY:
        return "newborn"
    grace_ms = settings.restore_grace_days * MILLISECONDS_PER_DAY
    if state.restored_at > 0 and now - state.restored_at < grace_ms:
        return "restored"
    return None
