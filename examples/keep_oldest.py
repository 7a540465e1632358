"""A resolver of duplicates of one's own: of near memories the oldest stays.

In forgetd.toml, with this file where Python finds it:

    [cycle]
    duplicate_resolver = "keep_oldest:KeepOldest"

It makes use of the daemon's guard: where the texts of a cluster say two things, all stay.
"""

import numpy as np

from sidecar.plan.duplicates import DuplicateCandidates, GuardedResolver, Resolution


class KeepOldest:
    """The daemon's clusters, with another survivor: the first that was written."""

    def resolve(self, candidates: DuplicateCandidates) -> Resolution:
        found = GuardedResolver().resolve(candidates)
        created = candidates.snapshot.created_at
        survivor = found.survivor.copy()
        for stays in np.unique(survivor[survivor >= 0]):
            cluster = np.flatnonzero(found.survivor == stays)
            survivor[cluster] = cluster[np.argmin(created[cluster])]
        return Resolution(survivor, found.guarded, found.flagged)
