"""Every method of the protocol, by name, in the order in which it is documented."""

from typing import Final

from sidecar.rpc.method import Method
from sidecar.rpc.methods import (
    cycle,
    discover,
    estimate,
    events,
    exchange,
    feedback,
    forgetting,
    gc,
    lifecycle,
    memory,
    namespaces,
    proposals,
    review,
    runs,
    simulation,
    system,
)

_NOUNS: Final = (
    memory,
    feedback,
    exchange,
    forgetting,
    cycle,
    lifecycle,
    review,
    proposals,
    simulation,
    estimate,
    runs,
    gc,
    events,
    namespaces,
    discover,
    system,
)

METHODS: Final[dict[str, Method]] = {
    method.name: method for noun in _NOUNS for method in noun.methods
}
