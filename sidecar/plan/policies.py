"""The policies that order a sweep, by name."""

from typing import Final

from sidecar.errors import PolicyUnknown
from sidecar.plan.plan import Policy
from sidecar.strength import FORMULA_VERSION

POLICY_DEFAULT: Final = "balanced"

# alpha (value), gamma (retention), rho (recall recency). `classic` weighs the three alike;
# `balanced` lets what a memory is worth decide, and age and use only between near equals: at a
# year without use a memory counts a fifth less. docs/quality.md has the measurements.
_EXPONENTS: Final = {"classic": (1.0, 1.0, 1.0), "balanced": (1.0, 0.01, 0.0)}

POLICY_NAMES: Final = tuple(_EXPONENTS)


def policy_named(name: str, estimator_version: str, *, besides: tuple[str, ...] = ()) -> Policy:
    """The policy of this name. Its version names formula, exponents and estimator.

    Raises PolicyUnknown, naming the policies there are, and what else could be asked for.
    """
    if name not in _EXPONENTS:
        names = ", ".join((*POLICY_NAMES, *besides))
        raise PolicyUnknown(
            field="$.policy",
            bound=f"one of: {names}",
            remedy=f"name one of {names}, or leave it out for {POLICY_DEFAULT}",
        )
    alpha, gamma, rho = _EXPONENTS[name]
    version = (
        f"{name}; formula {FORMULA_VERSION}; alpha {alpha:g}, gamma {gamma:g}, rho {rho:g}; "
        f"estimator {estimator_version}"
    )
    return Policy(name=name, alpha=alpha, gamma=gamma, rho=rho, version=version)
