"""How many of the words that a level treats are expected to stay as they are.

Why it may be told
    The share is a property of the mechanism and of the public space. It is estimated on frequent
    public words, with draws that are thrown away; no private text is looked at. How many words of a
    text really stayed depends on the text, and is counted nowhere.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from functools import lru_cache

from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.mechanisms.by_type import ByType
from sfumato.mechanisms.levels import Levels
from sfumato.mechanisms.mechanism import (
    DocumentMechanism,
    Mechanism,
    PointMechanism,
    StretchMechanism,
)
from sfumato.mechanisms.selective import Selective
from sfumato.mechanisms.vocabulary import OverVocabulary
from sfumato.metrics.deniability import typical_keep_probability

# The same public words and draws for everyone, so that one mechanism has one share. Nothing that is
# released is drawn with it.
PUBLIC_SEED = 0
WORDS, DRAWS = 200, 10


def share_expected_to_stay(selective: Selective | Levels) -> float | None:
    """The largest share of any word mechanism in it; none where no word is drawn."""
    shares = (_share(one.points) for one in _word_mechanisms(selective))
    return max(shares, default=None)


def _share(points: PointMechanism) -> float:
    """Our own mechanisms are known by their settings, so one that was looked at is known."""
    ours = type(points).__module__.startswith("sfumato.")
    if ours and isinstance(points, Hashable):
        return _known_share(points)
    return _estimated_share(points)


def _estimated_share(points: PointMechanism) -> float:
    draws = Randomness.reproducible(PUBLIC_SEED)
    return typical_keep_probability(points, draws, words=WORDS, draws=DRAWS).value


_known_share = lru_cache(maxsize=4)(_estimated_share)


def with_share(guarantee: Guarantee, selective: Selective | Levels) -> Guarantee:
    """The guarantee with that share in it; where nothing is proven there is none to carry it."""
    if guarantee.notion is Notion.NONE:
        return guarantee
    return replace(guarantee, stays=share_expected_to_stay(selective))


def _word_mechanisms(selective: Selective | Levels) -> Iterator[OverVocabulary]:
    found: list[Mechanism | StretchMechanism | DocumentMechanism]
    if isinstance(selective, Levels):
        # The largest level keeps most; the others need no look.
        found = [selective.levels[-1].mechanism]
    elif isinstance(selective.mechanism, ByType):
        found = [*selective.mechanism.routes()]
    else:
        found = [selective.mechanism]
    return (one for one in found if isinstance(one, OverVocabulary))
