"""Everything that planning knows of each row of a snapshot at one instant, under one policy."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from sidecar import strength
from sidecar.limits import MILLISECONDS_PER_DAY, TIME_MIN_MS
from sidecar.model import ACTIVE, SUPERSEDED
from sidecar.plan.chains import Chains, chains_of
from sidecar.plan.guards import protections_of
from sidecar.plan.order import Column
from sidecar.plan.plan import (
    REASON_CODE,
    Bool,
    CascadeSettings,
    Float64,
    Int64,
    Policy,
    Snapshot,
    UInt8,
)
from sidecar.strength import StrengthParts, last_use_of, strength_parts, true_in_all

# The classes of a cascade, in the order in which they go.
OLDER_VERSION: Final = 0
SET_ASIDE: Final = 1  # archived, held wrong, or expired
BELIEVED: Final = 2


@dataclass(frozen=True)
class Assessment:
    """The scores, classes and protections of a snapshot's rows at `now` (ms).

    `status` is the stored one, except that a superseded memory of which no newer version stands
    counts as active. `sweep` is the sweep score, infinite where unscored: unknown goes last.
    """

    snapshot: Snapshot
    settings: CascadeSettings
    policy: Policy
    now: int
    chains: Chains
    status: UInt8
    group: UInt8
    parts: StrengthParts
    scored: Bool
    sweep: Float64
    last_use: Int64
    protections: UInt8

    def columns_of(self, group: int) -> tuple[Column, ...]:
        """What orders the rows of one class: the lowest first, equal ids aside.

        The deepest older version, then the sweep score; ties: older last use, older creation.
        """
        by_score = (self.sweep, self.last_use, self.snapshot.created_at)
        return (-self.chains.depth, *by_score) if group == OLDER_VERSION else by_score

    def before(self, row: int, group: UInt8) -> Bool:
        """The rows that go before `row`, where `group` says which class each is in."""
        before = group < group[row]
        level = group == group[row]
        for column in self.columns_of(int(group[row])):
            before |= level & (column < column[row])
            level &= column == column[row]
        ids = self.snapshot.ids
        for other in np.flatnonzero(level).tolist():
            before[other] = ids[other] < ids[row]
        return before

    @cached_property
    def reason(self) -> UInt8:
        """Why each row would go, where its class says it; the believed ones read `called`."""
        codes = np.full(len(self.snapshot), REASON_CODE["called"], dtype=np.uint8)
        codes[self.group == SET_ASIDE] = REASON_CODE["archived"]
        codes[(self.group == SET_ASIDE) & (self.status == ACTIVE)] = REASON_CODE["expired"]
        codes[self.group == OLDER_VERSION] = REASON_CODE["superseded"]
        return codes

    def weak_enough(self) -> Bool:
        """Rows that pressure may forget unless protected: weak, and unused if still believed."""
        idle_ms = self.settings.idle_days_min * MILLISECONDS_PER_DAY
        weak = self.parts.strength < self.settings.weak_strength
        return weak & ((self.group != BELIEVED) | (self.now - self.last_use >= idle_ms))


def assess(
    snapshot: Snapshot, settings: CascadeSettings, *, now: int, policy: Policy
) -> Assessment:
    """Assess every row of a snapshot at `now` (ms) under a policy."""
    chains = chains_of(snapshot)
    alone = (snapshot.status == SUPERSEDED) & ~chains.in_force
    status = np.where(alone, np.uint8(ACTIVE), snapshot.status)
    expired = (snapshot.expires_at > 0) & (snapshot.expires_at <= now)
    group = np.where((status != ACTIVE) | expired, np.uint8(SET_ASIDE), np.uint8(BELIEVED))
    group[status == SUPERSEDED] = OLDER_VERSION
    parts = strength_parts(snapshot, now, status)
    scored = true_in_all((parts.scored, *_possible_marks(snapshot).values()))
    sweep = sweep_score(parts, status, policy)
    sweep[~scored] = np.inf
    return Assessment(
        snapshot=snapshot,
        settings=settings,
        policy=policy,
        now=now,
        chains=chains,
        status=status,
        group=group,
        parts=parts,
        scored=scored,
        sweep=sweep,
        last_use=last_use_of(snapshot),
        protections=protections_of(snapshot, scored, chains, settings, now),
    )


def sweep_score(parts: StrengthParts, status: UInt8, policy: Policy) -> Float64:
    """value^alpha * retention^gamma * recency^rho, doubled where active. Lower goes first."""
    score = status_factor(status)
    for factor, exponent in (
        (parts.value, policy.alpha),
        (parts.retention, policy.gamma),
        (parts.recall_recency, policy.rho),
    ):
        if exponent != 0.0:
            score *= factor if exponent == 1.0 else factor**exponent
    return score


def status_factor(status: UInt8) -> Float64:
    """2 where active, else 1."""
    return np.where(status == ACTIVE, 2.0, 1.0)


def possible_values(snapshot: Snapshot, now: int) -> dict[str, Bool]:
    """By the name of a field that a plan reads, whether each row's value of it is possible."""
    return strength.possible_values(snapshot, now) | _possible_marks(snapshot)


def _possible_marks(snapshot: Snapshot) -> dict[str, Bool]:
    """The times that may lie in the future: none, or not before the year 2000."""
    marks = {"heldUntil": snapshot.held_until, "expiresAt": snapshot.expires_at}
    return {name: (mark == 0) | (mark >= TIME_MIN_MS) for name, mark in marks.items()}
