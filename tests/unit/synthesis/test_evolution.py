"""What comes out follows from noisy votes and public inputs, and from nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from sfumato.core.arrays import Floats
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.synthesis import evolution
from sfumato.synthesis.corpus import Synthesized
from sfumato.synthesis.embedding import Embedding
from sfumato.synthesis.evolution import (
    Breeding,
    Evolution,
    first_candidates,
    margins,
    shares,
    stand_for_election,
)
from sfumato.synthesis.plan import VotingPlan
from sfumato.synthesis.voting import Candidates, Unit, add_noise, tally
from sfumato.vectors.means import unit_rows
from statistical.budget import fits_share, rejects

LABELS = ("bad", "good")
EVERY = 40


class Hashed(Embedding):
    """A vector for each text, by its number."""

    def public(self, texts: Sequence[str]) -> Floats:
        rows = [np.random.default_rng(int(one[1:])).standard_normal(8) for one in texts]
        return unit_rows(np.array(rows))


@dataclass
class Counting:
    """Texts t0, t1 …; what it was called with is remembered."""

    knows_labels: bool = False
    seen: list[Any] = field(default_factory=list)

    def invent(self, label: str, count: int, randomness: Randomness) -> list[str]:
        self.seen.append(("invent", label, count))
        return [f"t{one}" for one in randomness.choose(400, count)]

    def vary(
        self, texts: Sequence[str], label: str, count: int, randomness: Randomness
    ) -> list[str]:
        self.seen.append(("vary", tuple(texts), label, count))
        return [f"t{one}" for one in randomness.integers(400, count)]


EMBEDDING = Hashed(np.zeros(0))


def voters(count: int, *, label: int = 1, seed: int = 5) -> list[Unit]:
    rng = np.random.default_rng(seed)
    return [Unit(unit_rows(rng.standard_normal((1, 8))), (label,)) for _ in range(count)]


def run(
    units: Sequence[Unit] | None,
    *,
    seed: int = 1,
    labels: str = "equal",
    counts: Mapping[str, int] | None = None,
    generator: Counting | None = None,
    rounds: int = 2,
    choice: str = "rank",
) -> list[Synthesized]:
    made = generator or Counting()
    draws = Randomness.reproducible(seed)
    first = stand_for_election(first_candidates(made, LABELS, EVERY, draws), EMBEDDING)
    evolution_ = Evolution(
        generator=made,
        plan=VotingPlan(units=500, epsilon=1, delta=1e-5, rounds=rounds, labels=labels),
        breeding=Breeding(texts=10, candidates=EVERY, choice=choice),
        labels=LABELS,
        embedding=EMBEDDING,
    )
    return evolution_.run(first, units, counts=counts or {}, randomness=draws)


def spied(
    monkeypatch: pytest.MonkeyPatch, *, noise: float = 1.0, plain: bool = False, rounds: int = 2
) -> list[float]:
    """p-values of what evolution works with, less the true votes, under the law of the plan.

    ``noise`` scales what is added, as a twin would.
    """
    true: list[Any] = []
    noisy: list[Any] = []

    def counted(*given: Any) -> Any:
        true.append(tally(*given))
        return true[-1].copy()

    def added(counts: Any, standing: Candidates, sigma: float, draws: Randomness) -> Any:
        return counts if plain else add_noise(counts, standing, noise * sigma, draws)

    def scored(votes: Any, standing: Candidates) -> Any:
        noisy.append((votes, standing.under))
        return margins(votes, standing)

    with monkeypatch.context() as patch:
        patch.setattr(evolution, "tally", counted)
        patch.setattr(evolution, "add_noise", added)
        patch.setattr(evolution, "margins", scored)
        for seed in range(25):
            run(voters(20), seed=seed, rounds=rounds)
    from scipy.stats import norm

    assert len(noisy) == 25 * rounds
    sigma = VotingPlan(units=500, epsilon=1, delta=1e-5, rounds=rounds).noise
    errors = np.concatenate(
        [(votes - before)[under] for (votes, under), before in zip(noisy, true, strict=True)]
    )
    assert errors.dtype.kind == "i"  # whole numbers have no low bits
    return [
        fits_share(
            int((errors <= place).sum()), len(errors), float(norm.cdf((place + 0.5) / sigma))
        )
        for place in (-8, -3, 0, 4, 9)
    ]


def test_what_evolution_sees_is_noised_in_every_round(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not rejects("synthesis: noise", "counts", spied(monkeypatch))
    assert rejects("synthesis: noise", "counts", spied(monkeypatch, noise=0.5))
    assert rejects("synthesis: noise", "counts", spied(monkeypatch, plain=True))


def test_rounds_charged_as_one_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # With the noise of one round in each of three, the law of the plan does not fit.
    assert not rejects("synthesis: noise", "rounds", spied(monkeypatch, rounds=3))
    assert rejects("synthesis: noise", "rounds", spied(monkeypatch, noise=3**-0.5, rounds=3))


def test_noise_of_two_rounds_and_labels_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def added(counts: Any, standing: Candidates, sigma: float, draws: Randomness) -> Any:
        seen.append(add_noise(counts * 0, standing, 1e6, draws))
        return seen[-1]

    monkeypatch.setattr(evolution, "add_noise", added)
    run(voters(3))
    assert len({int(one) for votes in seen for one in votes.ravel()}) == sum(
        one.size for one in seen
    )


@pytest.mark.parametrize("labels", ["equal", "noised"])
def test_true_counts_of_labels_are_not_read(labels: str, monkeypatch: pytest.MonkeyPatch) -> None:
    people = voters(20)
    one = run(people, labels=labels, counts={"bad": 400, "good": 1})
    assert run(people, labels=labels, counts={"bad": 1, "good": 400}) == one
    # The twin: the published code takes as many texts of a label as there are records.
    monkeypatch.setattr(evolution, "NOISED", "never")
    monkeypatch.setattr(evolution, "PUBLIC", labels)
    assert run(people, labels=labels, counts={"bad": 400, "good": 1}) != run(
        people, labels=labels, counts={"bad": 1, "good": 400}
    )


def test_labels_get_their_share() -> None:
    plan = VotingPlan(units=500, epsilon=1)
    totals = np.array([30.0, 10.0])
    assert shares(plan, 5, LABELS, totals, {"bad": 9}) == [3, 2]
    noised = VotingPlan(units=500, epsilon=1, labels="noised")
    assert shares(noised, 8, LABELS, totals, {"bad": 9}) == [6, 2]
    assert shares(noised, 8, LABELS, -totals, {}) == [4, 4]
    public = VotingPlan(units=500, epsilon=1, labels="public")
    assert shares(public, 8, LABELS, totals, {"good": 9}) == [0, 8]
    assert sum(shares(noised, 7, ("a", "b", "c"), np.array([1.0, 1.0, 1.0]), {})) == 7


def test_a_text_under_two_labels_is_judged_by_the_difference() -> None:
    under = np.array([[True, True, False], [True, False, True]])
    standing = Candidates(("a", "b", "c"), np.zeros((3, 2)), under)
    votes = np.array([[9, 4, 0], [2, 0, 5]])
    found = margins(votes, standing)
    assert found[under].tolist() == [7.0, 4.0, -7.0, 5.0]
    assert np.isneginf(found[~under]).all()


@pytest.mark.parametrize("knows", [True, False])
def test_a_generator_gets_what_noisy_votes_chose_and_nothing_else(knows: bool) -> None:
    generator = Counting(knows_labels=knows)
    made = run(voters(200), generator=generator)
    invented = [one for one in generator.seen if one[0] == "invent"]
    varied = [one for one in generator.seen if one[0] == "vary"]
    assert [one[1] for one in invented] == (["bad", "good"] if knows else [""])
    assert [one[2] for one in varied] == ["bad", "good"]
    quota = EVERY if knows else EVERY // 2
    assert all(len(one[1]) + one[3] == quota for one in varied)
    assert len(made) == 10
    assert [one.label for one in made].count(0) == 5
    assert len({one.text for one in made}) == 10


def test_votes_decide_and_noise_alone_does_not_look() -> None:
    near = EMBEDDING.public([f"t{n}" for n in range(400)])
    # All records stand where one candidate stands: it comes out under their label.
    first = first_candidates(Counting(), LABELS, EVERY, Randomness.reproducible(1))[0]
    favorite = first[3]
    people = [Unit(near[[int(favorite[1:])]], (1,)) for _ in range(400)]
    assert Synthesized(favorite, 1) in run(people)
    assert run(people) != run(None)
    assert run(None) == run([])


def test_resampling_draws_by_votes_and_may_repeat() -> None:
    first = first_candidates(Counting(), LABELS, EVERY, Randomness.reproducible(1))[0]
    near = EMBEDDING.public([first[3]])
    made = run([Unit(near, (1,)) for _ in range(3000)], choice="resample")
    good = [one.text for one in made if one.label == 1]
    assert good.count(first[3]) >= 3


def test_too_few_texts_and_wrong_settings_are_refused() -> None:
    with pytest.raises(BadInput, match="fewer than two different texts"):
        stand_for_election([["t1"], ["t1"]], EMBEDDING)
    with pytest.raises(InvalidArgument, match="candidates=1"):
        Breeding(texts=1, candidates=1)
    with pytest.raises(InvalidArgument, match="rank, resample"):
        Breeding(texts=1, candidates=2, choice="best")
