"""A guarantee in three short lines: what is protected and how strongly, what is not, what is next.

The lines stand before the exact statement and never in its place. They are true by themselves:
levels are rounded up, what is left out is counted where it is not named, and where nothing is
proven the first line says so.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sfumato.guarantees.distances import spell_out
from sfumato.guarantees.wording import (
    at_most,
    name_types,
    says_it_stays,
    share_in_words,
    stays_mostly,
)

if TYPE_CHECKING:
    from sfumato.guarantees.guarantee import Guarantee

# What people see of a level. All digits are in the JSON.
DIGITS = 3
# Types and gaps that are named; the others are counted.
TYPES_NAMED, GAPS_NAMED = 3, 2
# Word by word an attack can try each replacement; of whole stretches, people see what was missed.
_LOOK_AT_STRETCHES = (
    "Next: read some of it beside the originals for what was not found: "
    "`sfumato.report(OUT, originals=IN, samples=10)`."
)
_LOOK_AT_WORDS = (
    "Next: read some of it for what was not found, and attack it: "
    "`sfumato.attack('token-inference', OUT, originals=IN)`."
)
_LOOK_AT_MODEL = "Next: attack it before you pass it on: `sfumato.attack('membership', RUN, ...)`."
_LOOK_AT_DOCUMENTS = (
    "Next: read some of it beside the originals, and see who is still found: "
    "`sfumato.attack('reidentification', OUT, originals=IN)`."
)
_LOOK_AT_SYNTHETIC = (
    "Next: see what it is good for and how near it comes to the originals: "
    "`sfumato.evaluate_synthetic(OUT, originals=IN, held_out=FILE)`."
)
_LOOK_AT_VECTORS = (
    "Next: see what the vectors still tell: "
    "`sfumato.attack('vector-reidentification', OUT, originals=IN)`."
)
_LOOK_AT_WORD_VECTORS = (
    "Next: see which words are still read off: "
    "`sfumato.attack('vector-inversion', OUT, originals=IN)`."
)
_LOOK = {
    "BY_TYPE": _LOOK_AT_STRETCHES,
    "INDEPENDENT": _LOOK_AT_STRETCHES,
    "LDP_WITHIN_GROUPS": _LOOK_AT_WORDS,
    "METRIC_DP": _LOOK_AT_WORDS,
    "SELECTIVE_METRIC_DP": _LOOK_AT_WORDS,
    "UTILITY_OPTIMIZED_METRIC_LDP": _LOOK_AT_WORDS,
}


def summary(guarantee: Guarantee) -> tuple[str, str, str]:
    """What is protected and how strongly; what is not; what to do next."""
    return _protected(guarantee), _not_protected(guarantee), _next(guarantee)


def _protected(guarantee: Guarantee) -> str:
    if _nothing(guarantee):
        return "Protected: nothing is proven; this is a baseline without a formal guarantee."
    if not guarantee.parts:
        return f"Protected: {guarantee.scope}; {strength_of(guarantee)}."
    stated: dict[str, list[str]] = {}
    near: dict[str, list[str]] = {}
    for part in guarantee.parts:
        types = list(part.types) or [name_types(())]
        reach, _, strength = _reach(part.guarantee).partition(", ")
        if strength:
            near.setdefault(strength, []).append(f"{_some(types, TYPES_NAMED)} {reach}")
        else:
            stated.setdefault(strength_of(part.guarantee), []).extend(types)
    parts = [f"{_some(types, TYPES_NAMED)}: {strength}" for strength, types in stated.items()]
    parts += [
        f"the original hides among similar ones, {strength}: {'; '.join(places)}"
        for strength, places in near.items()
    ]
    return f"Protected by type. {_sentences(parts)}."


def _reach(guarantee: Guarantee) -> str:
    """How near two originals are that are hardly told apart; nothing where no distance says it."""
    if _nothing(guarantee) or not guarantee.metric or guarantee.delta:
        return ""
    return spell_out(guarantee.metric, guarantee.epsilon)


def _sentences(parts: list[str]) -> str:
    return ". ".join(part[0].upper() + part[1:] for part in parts)


def strength_of(guarantee: Guarantee) -> str:
    """How strongly, in a phrase that is true without the exact statement."""
    if _nothing(guarantee):
        return "nothing is proven"
    name = guarantee.notion.name
    if name == "INDEPENDENT":
        # What shows of the form of an original, or of which are equal, is a leak and said as one.
        return (
            "what stands there now does not depend on what stood there, except for what still "
            "shows (ε = 0)"
        )
    level = f"ε ≤ {at_most(guarantee.epsilon, DIGITS)}"
    if guarantee.delta:
        level += f", δ ≤ {at_most(guarantee.delta, DIGITS)}"
    if name == "LDP_WITHIN_GROUPS":
        return f"the original hides among the words of its group and no others ({level})"
    if name == "UTILITY_OPTIMIZED_METRIC_LDP":
        return (
            "the original hides among similar ones only where a sensitive word is put in its "
            f"place ({level} per unit of distance, and what the statement adds)"
        )
    if guarantee.metric:
        unit = guarantee.unit
        meaning = spell_out(guarantee.metric, guarantee.epsilon)
        per = f"{unit}: {meaning}" if meaning else f"{unit} and unit of distance"
        return f"the original hides among similar ones ({level} per {per})"
    if name == "ZCDP":
        level = f"ρ ≤ {at_most(guarantee.epsilon, DIGITS)}"
    return f"{guarantee.neighbors} are told apart no better than {level} allows"


def _not_protected(guarantee: Guarantee) -> str:
    named = list(guarantee.uncovered[:GAPS_NAMED])
    if says_it_stays(guarantee):
        named.insert(0, f"{share_in_words(guarantee)} of the words, which stay as they are")
    if mostly := stays_mostly(guarantee):
        named.insert(0, f"{', '.join(mostly)}: these mostly stay as they are at their levels")
    others = len(guarantee.uncovered[GAPS_NAMED:])
    counted = [
        f"{count} more {'point' if count == 1 else 'points'} {said}"
        for count, said in (
            (others, "that the statement names"),
            (
                len(guarantee.leaks),
                "that still shows" if len(guarantee.leaks) == 1 else "that still show",
            ),
        )
        if count
    ]
    if not named and not counted:
        return "Not protected: whatever the statement does not name."
    return f"Not protected: {'; '.join([*named, *counted])}."


def _next(guarantee: Guarantee) -> str:
    from sfumato.guarantees.guarantee import SEED_LEAK

    if SEED_LEAK in guarantee.leaks:
        return "Next: do not pass this on; run again without a seed for what you release."
    if _nothing(guarantee):
        return "Next: do not pass this on as private; choose what comes with a guarantee."
    if not guarantee.for_release:
        return "Next: do not pass this on yet; what stands in the way is said below."
    if says_it_stays(guarantee):
        return (
            "Next: take a smaller epsilon or another mechanism; "
            "`sfumato.suggest(MECHANISM, keep=0.1)` finds the level at which the median word stays "
            "once in ten."
        )
    return _look(guarantee)


def _look(guarantee: Guarantee) -> str:
    if guarantee.unit == "sentence" or guarantee.scope.startswith("every document"):
        return _LOOK_AT_DOCUMENTS
    if guarantee.scope.startswith("the vector of every"):
        return _LOOK_AT_VECTORS if guarantee.unit == "document" else _LOOK_AT_WORD_VECTORS
    if guarantee.scope.startswith("the synthetic corpus"):
        return _LOOK_AT_SYNTHETIC
    return _LOOK.get(guarantee.notion.name, _LOOK_AT_MODEL)


def _nothing(guarantee: Guarantee) -> bool:
    return guarantee.notion.name == "NONE" or (
        not guarantee.parts and math.isinf(guarantee.epsilon)
    )


def _some(names: list[str], most: int) -> str:
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more types"
