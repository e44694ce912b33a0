"""Private evolution: candidates are invented, voted for by private records, chosen and varied.

Guarantee
    What comes out depends on private records through the noisy histograms only, one for each round
    of the plan, so it has the guarantee of ``plan.py``, whatever the generator does.

Why it holds
    A generator sees labels, numbers and texts that noisy votes chose: all of this is
    post-processing. Nothing else is computed from private records. In particular, how many texts of
    each label come out is a constant, or follows from the sums of the noisy votes; the true counts
    are used only where they are declared public.

Care
    The published code writes votes to disk before noise and takes the numbers of texts per label
    from the true ones. Here the histogram before noise exists in memory only.

Reference
    Xie et al. 2024, "Differentially private synthetic data via foundation model APIs 2: text".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.core.arrays import Floats
from sfumato.core.checks import at_least, between, one_of
from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.synthesis.corpus import Synthesized
from sfumato.synthesis.embedding import Embedding
from sfumato.synthesis.generator import Generator, knows_labels, texts_from
from sfumato.synthesis.plan import NOISED, PUBLIC, VotingPlan
from sfumato.synthesis.shares import divide
from sfumato.synthesis.voting import Candidates, Counts, Unit, add_noise, tally

RANK, RESAMPLE = "rank", "resample"
CHOICES = (RANK, RESAMPLE)
# Streams of randomness: noise must not depend on how much a generator draws.
NOISE, GENERATOR, CHOOSING, AUTHORS = range(4)


@dataclass(frozen=True, kw_only=True)
class Breeding:
    """What is public about the evolution besides the plan.

    ``candidates`` stand for election under each label; ``kept`` is the share of them that stays in
    the next round, the others being variations of those. ``choice`` is rank (the texts with the
    most votes) or resample (texts are drawn in proportion to the votes above ``threshold``, and may
    be drawn again).
    """

    texts: int
    candidates: int
    kept: float = 0.5
    choice: str = RANK
    threshold: float = 0.0

    def __post_init__(self) -> None:
        at_least("texts", self.texts, 1)
        at_least("candidates", self.candidates, 2)
        between("kept", self.kept, 0.01, 1.0)
        one_of("choice", self.choice, CHOICES)
        between("threshold", self.threshold, 0.0, 1e9)


def first_candidates(
    generator: Generator, labels: Sequence[str], count: int, randomness: Randomness
) -> list[list[str]]:
    """Invented texts for each label; a generator that knows no labels is asked once."""
    draws = randomness.stream(GENERATOR).stream(0)
    if not knows_labels(generator):
        found = texts_from(generator.invent("", count, draws.stream(0)), _who(generator))
        return [found] * len(labels)
    return [
        texts_from(generator.invent(label, count, draws.stream(place)), _who(generator))
        for place, label in enumerate(labels)
    ]


def stand_for_election(texts: Sequence[Sequence[str]], embedding: Embedding) -> Candidates:
    """Candidates from texts by label; a text under two labels is one text."""
    every = tuple(dict.fromkeys(one for some in texts for one in some))
    if len(every) < 2:
        raise BadInput("the generator made fewer than two different texts: nobody can vote")
    under = np.array([[one in own for one in every] for own in map(set, texts)])
    return Candidates(every, embedding.public(every), under)


@dataclass(frozen=True, kw_only=True, eq=False)
class Evolution:
    """A generator, how it is bred, and the plan of the votes; all of it is public."""

    generator: Generator
    plan: VotingPlan
    breeding: Breeding
    labels: Sequence[str]
    embedding: Embedding

    def run(
        self,
        first: Candidates,
        units: Sequence[Unit] | None,
        *,
        counts: Mapping[str, int],
        randomness: Randomness,
        advance: Callable[[int], None] = lambda _: None,
    ) -> list[Synthesized]:
        """The chosen texts after all rounds; without ``units`` votes are noise alone: the control.

        ``counts`` are the numbers of records by label, and are read only if the plan declares them
        public.
        """
        plan, breeding, candidates = self.plan, self.breeding, first
        totals: Floats = np.zeros(len(self.labels))
        for round_ in range(plan.rounds):
            votes = tally(units or (), candidates, plan.votes)
            # From here on only the noisy votes are there.
            draws = randomness.stream(NOISE).stream(round_)
            votes = add_noise(votes, candidates, plan.noise, draws)
            totals += votes.sum(axis=1)
            scores = margins(votes, candidates)
            choosing = randomness.stream(CHOOSING).stream(round_)
            if round_ == plan.rounds - 1:
                break
            parents = _parents(scores, candidates, breeding, self._quota, choosing)
            generating = randomness.stream(GENERATOR).stream(round_ + 1)
            varied = _vary(self.generator, parents, self.labels, self._quota, generating)
            candidates = stand_for_election(varied, self.embedding)
            advance(round_ + 1)
        wanted = shares(plan, breeding.texts, self.labels, totals, counts)
        return _chosen(scores, candidates, wanted, breeding, choosing)

    @property
    def _quota(self) -> int:
        """Candidates that a label may add to the next round."""
        if knows_labels(self.generator):
            return self.breeding.candidates
        # Texts without a label stand under all of them: each label adds its part only.
        return max(2, self.breeding.candidates // len(self.labels))


def margins(votes: Counts, candidates: Candidates) -> Floats:
    """Votes for a text under a label, less the mean of those for it under other labels.

    Where a text stands under one label, its votes. Noisy votes in, so this is post-processing.
    """
    under = candidates.under
    others = under.sum(axis=0) - under
    rest = np.where(under, votes, 0).sum(axis=0) - np.where(under, votes, 0)
    scores = votes - np.where(others > 0, rest / np.maximum(others, 1), 0.0)
    return np.where(under, scores, -np.inf)


def shares(
    plan: VotingPlan,
    texts: int,
    labels: Sequence[str],
    totals: Floats,
    counts: Mapping[str, int],
) -> list[int]:
    """How many texts of each label: equally many, by noisy votes, or by counts that are public."""
    if plan.labels == NOISED:
        return divide(texts, totals.tolist())
    if plan.labels == PUBLIC:
        return divide(texts, [float(counts.get(label, 0)) for label in labels])
    return divide(texts, [1.0] * len(labels))


def _chosen(
    scores: Floats,
    candidates: Candidates,
    wanted: Sequence[int],
    breeding: Breeding,
    draws: Randomness,
) -> list[Synthesized]:
    if breeding.choice == RESAMPLE:
        found = [
            Synthesized(candidates.texts[place], label)
            for label, count in enumerate(wanted)
            for place in _resample(scores[label], count, breeding.threshold, draws)
        ]
    else:
        found = [Synthesized(candidates.texts[place], label) for label, place in
                 _ranked(scores, wanted)]  # fmt: skip
    # In the order of their votes they would tell a little more than they need to.
    order = np.argsort(draws.uniform(len(found)), kind="stable")
    return [found[place] for place in order]


def _ranked(scores: Floats, wanted: Sequence[int]) -> list[tuple[int, int]]:
    """The best places, a text under one label only, until each label has what it wants."""
    left = list(wanted)
    taken: set[int] = set()
    found = []
    for flat in np.argsort(-scores, axis=None, kind="stable"):
        label, place = divmod(int(flat), scores.shape[1])
        if np.isneginf(scores[label, place]) or not any(left):
            break
        if left[label] and place not in taken:
            left[label] -= 1
            taken.add(place)
            found.append((label, place))
    return found


def _resample(scores: Floats, count: int, threshold: float, draws: Randomness) -> list[int]:
    weights = np.where(np.isneginf(scores), 0.0, np.maximum(scores - threshold, 0.0))
    if not weights.any():
        weights = np.where(np.isneginf(scores), 0.0, 1.0)
    edges = np.cumsum(weights) / weights.sum()
    return [int(one) for one in np.searchsorted(edges, draws.uniform(count), side="right")]


def _parents(
    scores: Floats, candidates: Candidates, breeding: Breeding, quota: int, draws: Randomness
) -> list[list[str]]:
    """What stays, by label."""
    keep = max(1, round(quota * breeding.kept))
    if breeding.choice == RESAMPLE:
        drawn = (_resample(own, keep, breeding.threshold, draws) for own in scores)
    else:
        drawn = (
            [int(one) for one in np.argsort(-own, kind="stable")[:keep] if np.isfinite(own[one])]
            for own in scores
        )
    return [[candidates.texts[one] for one in dict.fromkeys(some)] for some in drawn]


def _vary(
    generator: Generator,
    parents: Sequence[list[str]],
    labels: Sequence[str],
    quota: int,
    draws: Randomness,
) -> list[list[str]]:
    """Parents and their variations; without labels of their own, they stand under every label."""
    made = []
    for place, (label, own) in enumerate(zip(labels, parents, strict=True)):
        more = max(0, quota - len(own))
        varied = generator.vary(own, label, more, draws.stream(place)) if more else []
        new = texts_from(varied, _who(generator))[:more]
        made.append(list(dict.fromkeys([*own, *new])))
    if knows_labels(generator):
        return made
    together = list(dict.fromkeys(one for some in made for one in some))
    return [together] * len(labels)


def _who(generator: Generator) -> str:
    return type(generator).__name__
