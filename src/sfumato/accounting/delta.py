"""The delta of a guarantee: the probability with which it may fail, which must be well below 1/n.

With delta = 1/n, a mechanism that publishes one random unit in the clear satisfies the definition
with epsilon 0. So delta must stay below 1/n, where n is the number of privacy units.
"""

from __future__ import annotations

import math

from sfumato.core.checks import at_least, number
from sfumato.core.errors import InvalidArgument
from sfumato.guarantees.wording import at_most

AUTO = "auto"
ONE_IN_N = "1/n"

# More units than there will ever be; beyond it, sums of probabilities are only rounding error.
MOST_UNITS = 10**20

_EQUAL = 1e-9


def privacy_units(name: str, units: object) -> int:
    """A plausible number of privacy units: at least two, and not absurdly many."""
    if at_least(name, units, 2, None) > MOST_UNITS:
        raise InvalidArgument(f"{name} must be at most {MOST_UNITS:,}; more cannot be planned for")
    return int(units)  # type: ignore[call-overload,no-any-return]  # checked by ``at_least``


def resolve_delta(delta: float | str, units: int) -> float:
    """The value of ``delta``, given as a number, as "auto" (just below 1/n^1.1) or as "1/n".

    >>> resolve_delta("auto", 5056), resolve_delta("1/n", 5000)
    (8.4e-05, 0.0002)
    """
    privacy_units("units", units)
    if delta == AUTO:
        return _below(units**-1.1)
    if delta == ONE_IN_N:
        return 1 / units
    if isinstance(delta, str):
        raise InvalidArgument(f"delta={delta!r} must be a number, 'auto' or '1/n'")
    if not 0 < number("delta", delta) < 1:
        raise InvalidArgument(f"delta={delta} must lie strictly between 0 and 1")
    if delta > (1 + _EQUAL) / units:
        raise InvalidArgument(
            f"delta={delta} is more than 1/n = {1 / units:g} for n={units}: publishing a random "
            "unit would count as private; 'auto' takes a delta below 1/n^1.1"
        )
    return float(delta)


def caution(delta: float, units: int) -> str | None:
    """A warning about a delta that is allowed but protects little."""
    if delta < (1 - _EQUAL) / units:
        return None
    return (
        f"delta = 1/n ({at_most(delta)}) is as large as the chance to publish one of the {units:,} "
        "units at random; papers use it, but a promise should have a smaller one"
    )


def _below(value: float) -> float:
    """The largest number of two digits that is smaller."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    digits = math.ceil(value / unit) - 1
    return float(f"{digits}e{round(math.log10(unit))}")
