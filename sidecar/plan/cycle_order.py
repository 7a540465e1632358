"""In which order the decisions of a cycle are carried out and shown."""

from typing import Final

import numpy as np

from sidecar.plan.cycle_plan import FADED, KEPT, NONE, PRUNED, CyclePlan
from sidecar.plan.plan import REASON_CODE, Int64

# The rank of each reason, by code: the lowest is named first. The last is for no reason.
REASON_RANKS: Final = np.full(NONE + 1, 4, dtype=np.uint8)
REASON_RANKS[[REASON_CODE[name] for name in ("superseded", "likely_duplicate")]] = (0, 1)
REASON_RANKS[[REASON_CODE[name] for name in ("low_performance", "time_decay")]] = (2, 3)

_ACTION_RANKS: Final = np.zeros(3, dtype=np.uint8)
_ACTION_RANKS[[PRUNED, FADED, KEPT]] = (0, 1, 2)


def in_order(plan: CyclePlan) -> Int64:
    """The places of all decisions: what goes, what fades, what stays under pressure, the rest.

    Among these by the rank of the reason, then the weakest first; unscored memories come last.
    """
    return np.lexsort((plan.rid, plan.score, REASON_RANKS[plan.reason], _ACTION_RANKS[plan.action]))
