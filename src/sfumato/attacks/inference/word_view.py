"""One word in focus: what it may become, and what an attacker would guess from that.

What is exact
    Where a mechanism knows its probabilities (rows), those of staying and of each replacement are
    exact. Guesses are worked out for the likeliest outputs, whose probability is known, and for
    some drawn ones that stand for the rest; without a rest they are exact as well. Otherwise
    everything is counted from draws, with Clopper and Pearson's 95 % intervals, each by itself.
    What is proven of guesses is in ``word_guesses``.

Care
    All of it follows from the word, the level and public vectors, and shows the word: it is for the
    eyes of whoever owns the text. Draws are thrown away; nothing here is a release.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from sfumato.attacks.inference.word_guesses import (
    Guesses,
    Public,
    guess_from_places,
    public_knowledge,
    rule_for,
)
from sfumato.core.arrays import Flags, Floats, Integers, Points
from sfumato.core.checks import at_least
from sfumato.core.display import as_html
from sfumato.core.errors import InvalidArgument, UnknownWords
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.mechanisms.mechanism import Mechanism, StretchMechanism
from sfumato.mechanisms.noise import ByNoise
from sfumato.mechanisms.rows import RowMechanism
from sfumato.mechanisms.vocabulary import OverVocabulary, draw_shape, restore_case
from sfumato.metrics.deniability import ROUNDING, Estimate, interval
from sfumato.text.span import Span, Stretch

# What is left of a row's probability that is not worth a draw: an interval holds it.
NOTHING = 1e-4
# The fewest frequent words that a guess by rows is chosen from.
FEWEST = 25
EXAMPLES = 8
NEVER = Estimate(0.0, 0.0, 0.0, 0)

INDEPENDENT = "what is put there does not depend on the original beyond its type: epsilon is 0"
NOT_PROVEN = "nothing is proven of what is put there"
SHAPED = (
    "the word is outside the vocabulary: another one of the same shape is drawn, which does not "
    "depend on the original beyond its shape"
)
KEPT = "the word is outside the vocabulary and stays as it is (unknown='keep'): nothing hides it"
UNKNOWN = (
    "the word is outside the vocabulary: it is treated like every other such word, never comes "
    "out, and cannot be guessed from the vocabulary"
)


@dataclass(frozen=True, kw_only=True)
class ViewEffort:
    """How many outputs are drawn or looked at, and how many bars are shown."""

    draws: int = 400
    most: int = 8

    def __post_init__(self) -> None:
        at_least("draws", self.draws, 1)
        at_least("most", self.most, 1)


@dataclass(frozen=True, slots=True, repr=False)
class Chance:
    """A word and the chance that it comes out, or is guessed."""

    word: str
    share: Estimate

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        share = self.share
        return {"word": self.word, "value": share.value, "low": share.low, "high": share.high}


@dataclass(frozen=True, slots=True, repr=False)
class Bars:
    """The likeliest words, likeliest first, and the chance of all others together."""

    words: tuple[Chance, ...]
    others: Estimate

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"words": [one.as_dict() for one in self.words], "others": asdict(self.others)}


@dataclass(frozen=True, slots=True, repr=False)
class Blind:
    """What is guessed without looking, how likely that is by the prior, and whether it is right."""

    word: str
    share: float
    right: bool


@dataclass(frozen=True, kw_only=True, repr=False)
class Attacked:
    """What an attacker guesses who knows the mechanism and how frequent words are in public.

    ``right`` is the chance that the guess is the word. ``settled`` is the share of the outputs (by
    their chance) for which the guess is proven to be Bayes'. ``sees_place`` and ``belief`` are of
    an attacker who sees the noisy place before a word is read off it: the chance that their guess
    is right, and the mean probability they give to the word; none where there is no noise.
    """

    guesses: Bars
    right: Estimate
    blind: Blind
    settled: float
    prior: str
    sees_place: Estimate | None = None
    belief: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "guesses": self.guesses.as_dict(),
            "right": asdict(self.right),
            "blind": asdict(self.blind),
            "settled": self.settled,
            "prior": self.prior,
            "sees_place": None if self.sees_place is None else asdict(self.sees_place),
            "belief": self.belief,
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class WordView:
    """A word in focus.

    ``exact`` says whether ``stays`` and ``replacements`` are exact; each figure says by how many
    draws it was estimated.

    A stretch that is replaced as a whole has ``examples`` and no chances. Of a word that stays or
    is drawn by its shape, ``notes`` say so. ``known`` is none for a stretch.
    """

    word: str
    label: str
    guarantee: Guarantee
    epsilon: float | None
    exact: bool
    draws: int
    known: bool | None = None
    stays: Estimate | None = None
    replacements: Bars | None = None
    attacker: Attacked | None = None
    examples: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        # The word is private, and a representation ends up in logs.
        stays = "" if self.stays is None else f", stays with {self.stays.value:.3g}"
        return f"WordView(epsilon={self.epsilon}{stays})"

    def _repr_html_(self) -> str:
        rows = [(one.word, f"{one.share.value:.3f}") for one in _listed(self.replacements)]
        guessed = self.attacker.guesses if self.attacker else None
        rows += [(f"guess: {one.word}", f"{one.share.value:.3f}") for one in _listed(guessed)]
        rows += [(one, "") for one in self.examples]
        return as_html(self.word, ("becomes", "chance"), rows, [*self.notes, *self._told()])

    def _told(self) -> list[str]:
        told = [] if self.stays is None else [f"stays with {self.stays.value:.3g}"]
        if self.attacker is not None:
            told.append(f"the guess is right with {self.attacker.right.value:.3g}")
        return [*told, self.guarantee.sentence()]

    def as_dict(self) -> dict[str, Any]:
        """For JSON; it holds the word."""
        return {
            "word": self.word,
            "label": self.label,
            "epsilon": self.epsilon,
            "exact": self.exact,
            "draws": self.draws,
            "known": self.known,
            "stays": None if self.stays is None else asdict(self.stays),
            "replacements": None if self.replacements is None else self.replacements.as_dict(),
            "attacker": None if self.attacker is None else self.attacker.as_dict(),
            "examples": list(self.examples),
            "notes": list(self.notes),
            "guarantee": self.guarantee.as_dict(),
            "sentence": self.guarantee.sentence(),
        }


def _listed(bars: Bars | None) -> tuple[Chance, ...]:
    return () if bars is None else bars.words


def view_word(
    mechanism: Mechanism | StretchMechanism,
    word: str | Stretch,
    effort: ViewEffort,
    randomness: Randomness,
) -> WordView:
    """What a mechanism does to one word, or to a whole stretch as it was found in a text."""
    if not isinstance(mechanism, OverVocabulary):
        return _view_stretch(mechanism, word, randomness)
    text, label = (word, "") if isinstance(word, str) else (word.text, word.label)
    stated = mechanism.guarantee()
    known = mechanism.points.space.point_of(text) != mechanism.points.space.unknown
    view = WordView(
        word=text,
        label=label,
        guarantee=stated,
        epsilon=_level(stated),
        exact=isinstance(mechanism.points, RowMechanism),
        draws=effort.draws,
        known=known,
    )
    if not known and mechanism.unknown != "centroid":
        return _view_unknown(mechanism, view, randomness)
    viewed = _view_point(mechanism, view, effort, randomness)
    return viewed if known else replace(viewed, notes=(UNKNOWN,))


def _view_unknown(mechanism: OverVocabulary, view: WordView, randomness: Randomness) -> WordView:
    """A word outside the vocabulary that goes through no mechanism on points."""
    if mechanism.unknown == "error":
        raise UnknownWords(
            f"the word is outside the vocabulary of {mechanism.points.space.name} "
            "(unknown='centroid' protects it, unknown='keep' leaves it as it is)"
        )
    if mechanism.unknown == "keep":
        return replace(view, exact=True, draws=0, stays=_sure(1.0), notes=(KEPT,))
    drawn = tuple(draw_shape(view.word, randomness) for _ in range(EXAMPLES))
    return replace(view, exact=False, draws=0, examples=drawn, notes=(SHAPED,))


def _view_stretch(
    mechanism: Mechanism | StretchMechanism, word: str | Stretch, randomness: Randomness
) -> WordView:
    """What is put in the place of a whole stretch, by examples."""
    if not isinstance(mechanism, StretchMechanism):
        raise InvalidArgument("only mechanisms over word vectors can be explained word by word")
    stretch = (
        word if isinstance(word, Stretch) else Stretch(0, len(word), word, Span(0, len(word), ""))
    )
    # One call is one document, in which the same entity may keep its surrogate.
    drawn = [mechanism.replace([stretch], randomness)[0] for _ in range(EXAMPLES)]
    stated = mechanism.guarantee()
    return WordView(
        word=stretch.text,
        label=stretch.label,
        guarantee=stated,
        epsilon=_level(stated),
        exact=False,
        draws=0,
        examples=tuple(dict.fromkeys(drawn)),
        notes=_told(stated),
    )


def _level(stated: Guarantee) -> float | None:
    """Epsilon, where something is proven."""
    return None if stated.notion is Notion.NONE or math.isinf(stated.epsilon) else stated.epsilon


def _told(stated: Guarantee) -> tuple[str, ...]:
    """What a level means where nothing is known of single chances."""
    level = _level(stated)
    if level is None:
        return (NOT_PROVEN,)
    if level == 0:
        return (INDEPENDENT,)
    return (f"epsilon is {level:g} per unit of distance: {stated.metric}",) if stated.metric else ()


def _view_point(
    mechanism: OverVocabulary, view: WordView, effort: ViewEffort, randomness: Randomness
) -> WordView:
    """The chances of a word that goes through a mechanism on points."""
    points = mechanism.points
    space = points.space
    known = public_knowledge(space, mechanism.case)
    point = space.point_of(view.word)
    seen, sees_place, belief = _look(points, known, point, effort, randomness)
    guessed = rule_for(points, known, max(FEWEST, effort.draws // 4))(seen.outputs)
    own = -1 if point == space.unknown else int(known.seen_as[point])
    spell = _Spelled(space.words, view.word if mechanism.case == "restore" else "")
    return replace(
        view,
        draws=seen.draws,
        stays=_stays(seen, own),
        replacements=_replacements(seen, own, spell, effort.most),
        attacker=replace(
            _attacked(seen, guessed, known, own, effort.most), sees_place=sees_place, belief=belief
        ),
    )


@dataclass(frozen=True)
class _Spelled:
    """Points as they are spelled in the place of a word."""

    words: Sequence[str]
    like: str

    def __call__(self, point: int) -> str:
        return restore_case(self.words[point], self.like) if self.like else self.words[point]


@dataclass(frozen=True, eq=False, repr=False)
class Seen:
    """Outputs of one word: some by their exact chance, some drawn from what is left.

    ``mass`` is the chance of each output where it is known, ``counts`` how often it was among
    ``draws`` draws from the rest, which has the chance ``rest``. ``row`` has all chances, where a
    mechanism knows them.
    """

    outputs: Points
    mass: Floats
    counts: Integers
    rest: float
    draws: int
    row: Floats | None = None

    def share(self, which: Flags) -> Estimate:
        """The chance of some of the outputs, with its interval."""
        sure, hits = float(self.mass[which].sum()), int(self.counts[which].sum())
        if not self.draws:
            return Estimate(sure, sure, min(1.0, sure + self.rest), 0)
        low, high = interval(hits, self.draws)
        ends = (sure + self.rest * end for end in (hits / self.draws, low, high))
        value, least, most = (min(1.0, end) for end in ends)
        return Estimate(value, least, most, self.draws)


def _look(
    mechanism: Any, known: Public, point: int, effort: ViewEffort, randomness: Randomness
) -> tuple[Seen, Estimate | None, float | None]:
    """What comes out, and what an attacker guesses who sees more than that."""
    if isinstance(mechanism, RowMechanism):
        return by_row(mechanism, known, point, effort.draws, randomness), None, None
    inputs = np.full(effort.draws, point, dtype=np.intp)
    if not isinstance(mechanism, ByNoise):
        return _counted(known.seen_as[mechanism.privatize(inputs, randomness)]), None, None
    places = mechanism.moved(inputs, randomness)
    drawn = known.seen_as[mechanism.words_at(places, randomness)]
    guesses, beliefs = guess_from_places(mechanism, known, places, point)
    hits = int((guesses == point).sum())
    right = Estimate(hits / effort.draws, *interval(hits, effort.draws), effort.draws)
    return _counted(drawn), right, float(beliefs.mean())


def _counted(drawn: Points) -> Seen:
    outputs, counts = np.unique(drawn, return_counts=True)
    return Seen(outputs, np.zeros(len(outputs)), counts.astype(np.int64), 1.0, len(drawn))


def by_row(
    mechanism: RowMechanism, known: Public, point: int, draws: int, randomness: Randomness
) -> Seen:
    """The likeliest outputs by their chance; where that leaves much, some of them, and draws."""
    chances = mechanism.row(point)
    row = np.bincount(known.seen_as, chances, minlength=len(chances)).astype(np.float64)
    listed = _likeliest(row, draws)
    held = row[listed].cumsum()
    enough = int(np.searchsorted(held, 1 - NOTHING)) + 1
    if enough <= len(listed) or len(listed) == np.count_nonzero(row):
        listed = listed[: min(enough, len(listed))]
        listed = listed[row[listed] > 0]
        rest = max(0.0, 1.0 - float(row[listed].sum()))
        rest = 0.0 if rest < ROUNDING else rest
        return Seen(listed, row[listed], np.zeros(len(listed), dtype=np.int64), rest, 0, row)
    listed = listed[: max(1, draws // 4)]
    left = row.copy()
    left[listed] = 0.0
    cumulated = left.cumsum()
    reached = randomness.uniform(max(1, draws // 2)) * cumulated[-1]
    drawn = np.minimum(cumulated.searchsorted(reached, side="right"), len(row) - 1)
    others, counts = np.unique(drawn, return_counts=True)
    return Seen(
        np.concatenate([listed, others]),
        np.concatenate([row[listed], np.zeros(len(others))]),
        np.concatenate([np.zeros(len(listed), dtype=np.int64), counts.astype(np.int64)]),
        float(cumulated[-1]),
        len(drawn),
        row,
    )


def _likeliest(shares: Floats, count: int) -> Points:
    """The largest of some shares, largest first; of equals the first in public order."""
    few = min(count, len(shares))
    some = np.sort(np.argpartition(-shares, few - 1)[:few])
    return some[np.argsort(-shares[some], kind="stable")]


def _stays(seen: Seen, own: int) -> Estimate:
    """The chance that the word itself comes out; never, if it is outside the vocabulary."""
    if own < 0:
        return NEVER
    return seen.share(seen.outputs == own) if seen.row is None else _sure(float(seen.row[own]))


def _sure(chance: float) -> Estimate:
    value = min(1.0, chance)
    return Estimate(value, value, value, 0)


def _replacements(seen: Seen, own: int, spell: _Spelled, most: int) -> Bars:
    """What else than the word itself comes out."""
    if seen.row is None:
        return _bars(seen, seen.outputs, spell, most, but=own)
    others = seen.row.copy()
    if own >= 0:
        others[own] = 0.0
    listed = [one for one in _likeliest(others, most).tolist() if others[one] > 0]
    left = max(0.0, float(others.sum() - others[listed].sum()))
    words = tuple(Chance(spell(one), _sure(float(others[one]))) for one in listed)
    return Bars(words, _sure(left))


def _bars(seen: Seen, named: Points, spell: _Spelled, most: int, but: int = -1) -> Bars:
    """The likeliest names of outputs, and all others; ``but`` counts among neither."""
    names, which = np.unique(named, return_inverse=True)
    which = which.reshape(-1)
    weights = seen.mass + (seen.rest / seen.draws * seen.counts if seen.draws else 0.0)
    shares = np.bincount(which, weights, minlength=len(names)).astype(np.float64)
    shares[names == but] = -1.0
    listed = [one for one in _likeliest(shares, most).tolist() if shares[one] > 0]
    words = tuple(Chance(spell(int(names[one])), seen.share(which == one)) for one in listed)
    return Bars(words, seen.share(~np.isin(which, listed) & (named != but)))


def _attacked(seen: Seen, guessed: Guesses, known: Public, own: int, most: int) -> Attacked:
    likeliest = int(known.prior.likeliest(1)[0])
    return Attacked(
        guesses=_bars(seen, guessed.points, _Spelled(known.space.words, ""), most),
        right=seen.share(guessed.points == own) if own >= 0 else NEVER,
        blind=Blind(known.space.words[likeliest], float(known.shares[likeliest]), likeliest == own),
        settled=seen.share(guessed.settled).value,
        prior=known.prior.said,
    )
