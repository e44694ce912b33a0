"""Context inference: what stood at each place, from what stands there now and around it.

It needs neither rows nor a vocabulary, so it attacks masks, codes, surrogates and word mechanisms
alike, and their figures can be compared.

How
    The attacker knows the originals of half of the documents. For each place in the other half they
    are given some candidates: what stood there, and what stood at other places of the same type,
    in random order. They name the likeliest by clues (``clues``) whose worth a logistic regression
    has learned on the known half. Then the halves change roles. With a public ``corpus`` they have
    also counted which words stand near which in it.

Figures
    ``guessed``: the share of places where the first guess is right. ``guessed by context``: the
    same for an attacker who never looks at what was put in. The difference is what the mechanism
    leaks; the second is what the text around tells, which no replacement of stretches can help.

Control
    The same attack, learned anew, on places whose replacement and surroundings were exchanged with
    those of another place of the same type: they tell nothing about what stood there. It may be a
    little above chance, because frequent values are likelier than others without any clue.

Care
    A small figure holds for these clues only. A stretch that was found by mistake counts like any
    other; what the policy did not find is not attacked here (``matching`` uses it).

Reference
    Lison et al. 2021, "Anonymisation models for text data", for the threat; Narayanan and
    Shmatikov 2008, "Robust de-anonymization of large sparse datasets", for the closed list.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.attack import Done
from sfumato.attacks.membership.classifier import fit_logistic
from sfumato.attacks.stretches.clues import CONTEXT_CLUES, Met, clues_of
from sfumato.attacks.stretches.places import Place, cut_documents, places_of
from sfumato.attacks.stretches.released import AttackOnReleased, Released
from sfumato.core.arrays import Floats
from sfumato.core.checks import at_least
from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.core.settings import FileToRead, PolicyText
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.results.measured import Measured
from sfumato.results.scores import Control, Scores, time_block
from sfumato.statistics.power import tells_from
from sfumato.statistics.ranking import derangement
from sfumato.statistics.shares import clustered_share
from sfumato.text.document import Document

GUESSED, BY_CONTEXT = "guessed", "guessed by context"
FEWEST = 4
# Scores that differ by less are equal, up to rounding.
EQUAL = 1e-9


@dataclass(frozen=True, eq=False)
class Guessed:
    """For each place whether both attackers were right, and how many candidates it had."""

    by_all: NDArray[np.bool_]
    by_context: NDArray[np.bool_]
    candidates: NDArray[np.int64]
    documents: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class ContextInference(AttackOnReleased):
    """Guess what stood where something was found, among ``candidates`` of its type.

    At most ``places`` places are attacked, drawn at random. ``corpus`` is a file of public text in
    which the policy finds things, too. ``policy`` gives what the side file does not show.
    """

    candidates: int = 20
    places: int = 1000
    corpus: FileToRead = ""
    policy: PolicyText = field(default="", repr=False)  # it may be a pattern

    name: ClassVar[str] = "context-inference"

    def __post_init__(self) -> None:
        at_least("candidates", self.candidates, 2)
        at_least("places", self.places, FEWEST)

    def score(
        self,
        target: Released,
        data: Sequence[Document],
        randomness: Randomness,
        done: Done | None = None,
    ) -> Scores:
        """Attack the replacements; the originals of the attacked half serve the evaluation only."""
        with time_block() as watch:
            places = places_of(cut_documents(data, target.documents, target.policy))
            chosen = self._chosen(places, randomness.stream(0))
            listed = self._candidates(chosen, randomness.stream(1))
            public = self._public(target)
            halves = _halves(chosen, randomness.stream(2))
            luck = randomness.stream(4).uniform(len(chosen))
            found = _guess(chosen, listed, halves, luck, public)
            if done:
                done(1, 2)
            exchanged = _exchange(chosen, randomness.stream(3))
            blank = _guess(exchanged, listed, halves, luck, public)
            if done:
                done(2, 2)
            chance = float((1 / found.candidates).mean())
            scores = Scores(
                attack=self.name,
                knowledge=self._knowledge(),
                figures=_figures(found),
                chance={GUESSED: chance, BY_CONTEXT: chance},
                control=Control(
                    what="the same attack on places whose replacement and surroundings are those "
                    "of another place of the same type",
                    figures=_figures(blank),
                ),
                notes=_notes(places, chosen, chance),
                details=_details(chosen, found),
            )
        return watch.stamp(scores)

    def _chosen(self, places: Sequence[Place], randomness: Randomness) -> list[Place]:
        """The places to attack: of types with at least two values, in two documents or more."""
        values: defaultdict[str, set[str]] = defaultdict(set)
        for one in places:
            values[one.kind].add(one.original.casefold())
        usable = [one for one in places if len(values[one.kind]) > 1]
        if len(usable) > self.places:
            drawn = np.sort(randomness.choose(len(usable), self.places))
            usable = [usable[number] for number in drawn.tolist()]
        if len(usable) < FEWEST or len({one.document for one in usable}) < 2:
            raise BadInput(
                f"the policy finds {len(usable):,} places with something to confuse them with; "
                f"{FEWEST} in two documents are needed to guess what stood there"
            )
        return usable

    def _candidates(self, places: Sequence[Place], randomness: Randomness) -> list[list[str]]:
        """What stood at each place, first, and what stood at others of its type."""
        pools: defaultdict[str, list[str]] = defaultdict(list)
        for one in places:
            pools[one.kind].append(one.original)
        listed = []
        for one in places:
            pool = pools[one.kind]
            order = np.argsort(randomness.uniform(len(pool)))
            met = {one.original.casefold(): one.original}
            for number in order.tolist():
                if len(met) == self.candidates:
                    break
                met.setdefault(pool[number].casefold(), pool[number])
            listed.append(list(met.values()))
        return listed

    def _public(self, target: Released) -> list[Place]:
        if not self.corpus:
            return []
        documents = list(Source.of(self.corpus, Layout()).documents())
        return places_of(cut_documents(documents, documents, target.policy))

    def _knowledge(self) -> str:
        corpus = " and a public corpus" if self.corpus else ""
        return (
            "The attacker knows the policy, the originals of one half of the documents"
            f"{corpus}, and for each place of the other half a list of up to {self.candidates} "
            "values of its type, one of which stood there."
        )


def _halves(places: Sequence[Place], randomness: Randomness) -> NDArray[np.bool_]:
    """A half for each place, all places of a document in the same."""
    documents = sorted({one.document for one in places})
    order = np.argsort(randomness.uniform(len(documents)), kind="stable")
    first = {documents[number] for number in order[: len(documents) // 2].tolist()}
    return np.array([one.document in first for one in places])


def _exchange(places: Sequence[Place], randomness: Randomness) -> list[Place]:
    """The same values behind replacements and surroundings of other places of their type."""
    by_kind: defaultdict[str, list[int]] = defaultdict(list)
    for number, one in enumerate(places):
        by_kind[one.kind].append(number)
    exchanged = list(places)
    for numbers in by_kind.values():
        moved = derangement(len(numbers), randomness).tolist()
        for number, index in zip(numbers, moved, strict=True):
            own, other = places[number], places[numbers[index]]
            exchanged[number] = replace(other, document=own.document, original=own.original)
    return exchanged


def _guess(
    places: Sequence[Place],
    listed: Sequence[Sequence[str]],
    halves: NDArray[np.bool_],
    luck: Floats,
    public: Sequence[Place],
) -> Guessed:
    """Attack each half with what was learned on the other."""
    by_all = np.zeros(len(places), dtype=np.bool_)
    by_context = np.zeros(len(places), dtype=np.bool_)
    for known in (True, False):
        learned = np.flatnonzero(halves == known).tolist()
        attacked = np.flatnonzero(halves != known).tolist()
        met = Met.of([places[number] for number in learned], public)
        rows = {number: clues_of(places[number], listed[number], met) for number in attacked}
        lessons = _lessons(places, listed, learned, public)
        for hits, columns in ((by_all, slice(None)), (by_context, slice(CONTEXT_CLUES))):
            judge = _learn([one[:, columns] for one in lessons])
            for number, row in rows.items():
                hits[number] = _first_is_guessed(judge(row[:, columns]), luck[number])
    counts = np.array([len(one) for one in listed], dtype=np.int64)
    return Guessed(by_all, by_context, counts, np.array([one.document for one in places]))


def _lessons(
    places: Sequence[Place],
    listed: Sequence[Sequence[str]],
    learned: Sequence[int],
    public: Sequence[Place],
) -> list[Floats]:
    """Clues at known places, each from what is met in *other* known documents.

    An attacker who counted a place among what they have met, and learned from it how much that is
    worth, would trust it too much elsewhere.
    """
    lessons = []
    documents = sorted({places[number].document for number in learned})
    parts = [set(documents[::2]), set(documents[1::2])]
    for part in parts:
        others = [places[one] for one in learned if places[one].document not in part]
        met = Met.of(others, public)
        lessons += [
            clues_of(places[number], listed[number], met)
            for number in learned
            if places[number].document in part
        ]
    return lessons


def _learn(lessons: Sequence[Floats]) -> Judge:
    """What clues are worth: a logistic regression on clues relative to the other candidates'."""
    rows = np.concatenate([_relative(one) for one in lessons])
    labels = np.concatenate([np.arange(len(one)) == 0 for one in lessons])
    scale = np.maximum(rows.std(axis=0), 1e-9)
    learned = fit_logistic(rows / scale, labels)
    return Judge(learned.weights / scale)


@dataclass(frozen=True, eq=False)
class Judge:
    """Weights of clues."""

    weights: Floats

    def __call__(self, clues: Floats) -> Floats:
        """A number for each candidate; the likeliest has the largest."""
        found: Floats = _relative(clues) @ self.weights
        return found


def _relative(clues: Floats) -> Floats:
    """What all candidates share says nothing about one of them."""
    found: Floats = clues - clues.mean(axis=0)
    return found


def _first_is_guessed(scores: Floats, luck: float) -> bool:
    """Whether the first candidate, the right one, is the guess; of equal ones one is drawn.

    >>> _first_is_guessed(np.array([1.0, 1.0, 0.0]), 0.4)
    True
    """
    best = scores >= scores.max() - EQUAL
    return bool(best[0] and luck * best.sum() < 1)


def _figures(found: Guessed) -> tuple[Measured, ...]:
    return (
        clustered_share(GUESSED, found.by_all, found.documents),
        clustered_share(BY_CONTEXT, found.by_context, found.documents),
    )


def _notes(places: Sequence[Place], chosen: Sequence[Place], chance: float) -> tuple[str, ...]:
    told = tells_from(chance, len(chosen))
    notes = [
        f"With {len(chosen):,} places a true share of {told:.2g} would be told from chance with a "
        "probability of 95 %, if places were independent.",
    ]
    if len(chosen) < len(places):
        notes.append(f"{len(chosen):,} of {len(places):,} places were attacked.")
    return tuple(notes)


def _details(chosen: Sequence[Place], found: Guessed) -> dict[str, object]:
    kinds = sorted({one.kind for one in chosen})
    of_kind = {kind: np.array([one.kind == kind for one in chosen]) for kind in kinds}
    return {
        "places": len(chosen),
        "by_type": [
            {
                "type": kind,
                "places": int(mine.sum()),
                "guessed": float(found.by_all[mine].mean()),
                "by_context": float(found.by_context[mine].mean()),
                "chance": float((1 / found.candidates[mine]).mean()),
            }
            for kind, mine in of_kind.items()
        ],
    }
