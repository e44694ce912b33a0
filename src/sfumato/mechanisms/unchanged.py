"""How often a date, a place or a number comes out as it went in, at the level that was chosen.

Why it is said
    A bound on ratios does not say what happens. At 0.1 per day a full date hardly ever stays and a
    year alone nearly always does; at 0.02 per km a city moves and a country does not. Whoever reads
    "protected" must read that as well.

Why it may be told
    Only public examples, kept here, go through the mechanism, with draws that are thrown away. No
    private text is looked at, so the chances are the same for everybody who has these settings.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from functools import lru_cache
from statistics import fmean

from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.mechanisms.mechanism import StretchMechanism
from sfumato.text.span import Span, Stretch

# The same draws for everyone, so that one mechanism has one chance. Nothing is released of them.
PUBLIC_SEED = 0
DRAWS = 200
# What the distance of a statement begins with; a type, and what values of it may look like.
_EXAMPLES: dict[str, tuple[str, dict[str, tuple[str, ...]]]] = {
    "days": (
        "DATE_TIME",
        {
            "a full date": ("14 May 2021",),
            "a month of a year": ("May 2021",),
            "a year alone": ("2021",),
        },
    ),
    "km": (
        "LOCATION",
        {
            "a city": ("Chicago", "Leeds", "Lyon", "Osaka", "Nairobi"),
            "a country": ("France", "India", "Brazil", "Kenya", "Canada"),
        },
    ),
    "steps": (
        "QUANTITY",
        {"a number like 3": ("3",), "a number like 40": ("40",), "a number like 100": ("100",)},
    ),
}


def tell_unchanged(stated: Guarantee, mechanism: StretchMechanism) -> Guarantee:
    """The statement of a mechanism with what stays of public examples at its level."""
    unit = stated.metric.partition(" ")[0]
    if unit not in _EXAMPLES or not isinstance(mechanism, Hashable):
        return stated
    return replace(stated, unchanged=_chances(mechanism, unit, stated.unit == "document"))


@lru_cache(maxsize=64)
def _chances(
    mechanism: StretchMechanism, unit: str, one_by_one: bool
) -> tuple[tuple[str, float], ...]:
    label, examples = _EXAMPLES[unit]
    return tuple(
        (what, round(fmean(_share(mechanism, label, text, one_by_one) for text in texts), 3))
        for what, texts in examples.items()
    )


def _share(mechanism: StretchMechanism, label: str, text: str, one_by_one: bool) -> float:
    randomness = Randomness.reproducible(PUBLIC_SEED)
    stretch = Stretch(0, len(text), text, Span(0, len(text), label), "en")
    # One draw for a whole document is one call; otherwise a document holds as many as one likes.
    calls = [[stretch]] * DRAWS if one_by_one else [[stretch] * DRAWS]
    drawn = [one for call in calls for one in mechanism.replace(call, randomness)]
    return sum(one == text for one in drawn) / len(drawn)
