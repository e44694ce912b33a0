"""Levels that a computer's numbers can carry through a mechanism."""

from __future__ import annotations

from sfumato.core.checks import positive
from sfumato.core.errors import InvalidArgument

SMALLEST, LARGEST = 1e-12, 1e300


def level(epsilon: object) -> float:
    """A level that is neither lost beside a distance nor makes it overflow.

    >>> level(5)
    5.0
    """
    checked = positive("epsilon", epsilon)
    if not SMALLEST <= checked <= LARGEST:
        raise InvalidArgument(
            f"epsilon={checked:g} must lie between {SMALLEST:g} and {LARGEST:g}: below, the output "
            "is pure noise already; above, words stay as they are"
        )
    return checked
