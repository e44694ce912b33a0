"""What stands in the public text in the place of what a policy finds.

*Masks*: the type in square brackets. A model reads them, but does not predict them, so that it
learns nothing of what stands at such places until private steps teach it.

*Surrogates*: a made-up name for a name, a made-up number for a number, from public lists and
ranges. A model reads and predicts them like any other text, so that private steps begin with a
model that knows what such things look like. Public steps after them still undo some of what they
taught, since made-up values are not distributed as the true ones are: take them first.

Guarantee
    A fill is a function of the type of what was found, of the language of the document (as given,
    or guessed from the words outside), of public patterns, of forms that were released if they were
    learned (``forms``), and of randomness of its own. Given these it is as likely for one original
    as for any other of its type, of whatever length or form, and for none at all; it may happen to
    be the original. So public text with fills remains public; with learned forms it is a function
    of public text and of what was released, and as protected as that.

Why it holds
    ``draw_fills`` is given types, not stretches: no original can be looked at, neither to copy its
    form, nor to draw again if it comes out, nor to give equal ones equal fills. That is stricter
    than the mechanism ``surrogate``, whose names have as many words as the originals.

    Learned forms were released with noise, at a level of their own that is part of the run's
    (``forms_plan``). Fills, and the public steps that read them, are computed from that release,
    from weights that are released and from public text: post-processing. Private steps come after
    it and may depend on it, an adaptive composition.

Care
    Patterns are public, whoever writes them: one that was read off the private text, and that only
    few could know, is not covered by any guarantee. Let it be learned.

    Whatever the policy misses stands beside the fills in the clear, as it does beside masks.

Reference
    "Hiding in plain sight": Carrell et al. 2013. Synthetic values for redacted ones before
    private training are our own; nothing is claimed of them but what the study measures.
"""

from __future__ import annotations

import string
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate

from sfumato.core.errors import InvalidArgument
from sfumato.core.kinds import kind_of
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.by_type import key_of_type
from sfumato.mechanisms.surrogates.chance import Chance
from sfumato.mechanisms.surrogates.codes import draw
from sfumato.mechanisms.surrogates.form import Form
from sfumato.mechanisms.surrogates.lists import Local
from sfumato.mechanisms.surrogates.names import Shape

MASKS, SURROGATES = "masks", "surrogates"
FILLS = (MASKS, SURROGATES)
# Every name is a given name and a family name, whatever it was.
_NAME = Shape(parts=(False, False))
_EITHER = string.ascii_uppercase + string.digits


# Of each type: patterns of which each is as likely, or patterns with the weight of each, whole
# numbers. An empty one stands for the values that are usual without patterns.
Patterns = Mapping[str, Sequence[str] | Mapping[str, int]]


def read_patterns(given: Sequence[str]) -> dict[str, list[str]]:
    """The patterns of each type, from ``LABEL=PATTERN``; a type may have several.

    Labels that mean the same kind of thing are one type, as in a table of mechanisms.

    >>> read_patterns(["ORDER=000-00000", "CODE=A0000", "TICKET=00"])
    {'CODE': ['000-00000', 'A0000'], 'TICKET': ['00']}
    """
    found: dict[str, list[str]] = {}
    for one in given:
        label, separator, pattern = one.partition("=")
        fits = pattern.strip() == pattern and pattern.isprintable() and pattern
        if not (label and separator and fits):
            raise InvalidArgument(
                "a pattern of made-up values is LABEL=PATTERN, such as ORDER=000-00000: 0 is a "
                "digit, A a capital, a a small letter, * a capital or a digit"
            )
        found.setdefault(key_of_type(label), []).append(pattern)
    return found


def draw_fills(
    labels: Sequence[str], language: str, randomness: Randomness, patterns: Patterns | None = None
) -> list[str]:
    """A made-up value for each label; equal labels draw from the same values.

    A type with ``patterns`` draws one of these, by its weight if they have weights, and fills it: 0
    is a digit, A a capital, a a small letter, * a capital or a digit.

    >>> from sfumato.core.randomness import Randomness
    >>> name, number = draw_fills(["PERSON", "PHONE"], "en", Randomness.secure())
    >>> len(name.split()), any(sign.isdigit() for sign in number)
    (2, True)
    """
    chance, local, known = Chance.of(randomness), Local.of(language, ""), patterns or {}
    taken = (_take(known.get(key_of_type(one), ()), chance) for one in labels)
    return [
        _follow(pattern, chance) if pattern else draw(Form(kind_of(label), local, _NAME), chance)
        for label, pattern in zip(labels, taken, strict=True)
    ]


def _take(known: Sequence[str] | Mapping[str, int], chance: Chance) -> str:
    """One of the patterns, by its weight if they have weights; empty if there is none."""
    if not isinstance(known, Mapping):
        return chance.pick(known) if known else ""
    place = chance.below(sum(known.values()))
    return list(known)[bisect_right(list(accumulate(known.values())), place)]


def _follow(pattern: str, chance: Chance) -> str:
    return "".join(chance.pick(_EITHER) if one == "*" else chance.fill(one) for one in pattern)


def put_fills(masked: str, masks: Sequence[tuple[int, int]], fills: Sequence[str]) -> str:
    """The masked text with a fill in the place of each mask; masks are (start, end), in order.

    >>> put_fills("Ask [PERSON] now", [(4, 12)], ["Ann Bell"])
    'Ask Ann Bell now'
    """
    ends = [0, *(end for _, end in masks)]
    starts = [*(start for start, _ in masks), len(masked)]
    between = [masked[end:start] for end, start in zip(ends, starts, strict=True)]
    return "".join(piece for pair in zip(between, (*fills, ""), strict=True) for piece in pair)
