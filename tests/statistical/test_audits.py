"""The falsifier accuses no true claim, and catches every sabotaged one.

A verdict on a true claim is a statistical check: its chance of a false alarm is set from the
budget. The sabotaged twins are judged at the same level, so they are caught by a wide margin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from sfumato.audits import company, verify
from sfumato.audits import falsify as module
from sfumato.audits.candidates import color_space
from sfumato.audits.company import Drawn, draw_each
from sfumato.audits.events import DrawnSample, Event, Outputs, Pair, Score
from sfumato.audits.exhibits.exhibit import Exhibit
from sfumato.audits.exhibits.table import EXHIBITS, examine
from sfumato.audits.subject import Subject, WordSubject
from sfumato.audits.verdict import Verdict
from sfumato.audits.verify import Effort, refute
from sfumato.core.progress import Advance
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.build import build_mechanism, word_mechanisms
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.rows import RowMechanism
from statistical import budget
from unit.audits.subjects import (
    HonestForRepeatedWords,
    LessForAWordThatComesOnce,
    OneInTheClear,
    RowTwin,
    Twin,
    UnknownOnTop,
    words_in_space,
)

CHECK = "audits: true claims"
NAMES = word_mechanisms()
LEVELS = (0.5, 3.0)
EFFORT = Effort(pairs=80, draws=3_000)
# A level at which the codes of the small space differ by few enough bits for draws to tell.
SAMPLED = ("laplace", "vickrey", "mahalanobis", "projected", "binary")


def judged(mechanism: PointMechanism, seed: int) -> Verdict:
    alpha = budget.level(CHECK, "catalog") / (len(NAMES) * len(LEVELS))
    source = Randomness.reproducible(seed)
    return refute(mechanism, confidence=1 - alpha, effort=EFFORT, randomness=source)


def built(name: str, epsilon: float, scale: float = 1.0) -> PointMechanism:
    """A mechanism of the catalog over colors; with a ``scale`` it draws for its twin."""
    return build_mechanism(name, space=color_space(epsilon), epsilon=epsilon * scale)


WITH_ROWS = [
    name
    for name in NAMES
    if all(isinstance(built(name, 1.0, scale), RowMechanism) for scale in (1.0, 4.0))
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("epsilon", LEVELS)
def test_no_mechanism_of_the_catalog_is_accused(name: str, epsilon: float) -> None:
    verdict = judged(built(name, epsilon), seed=21)
    assert not verdict.refuted, verdict.sentence()
    assert verdict.pairs > 0


@pytest.mark.parametrize("name", SAMPLED)
def test_half_the_noise_is_caught(name: str) -> None:
    twin = Twin(built(name, 0.5), built(name, 0.5, scale=2.0))
    verdict = judged(twin, seed=22)
    assert verdict.refuted, verdict.sentence()
    assert verdict.witness is not None
    assert verdict.witness.excess > 0


@pytest.mark.parametrize("name", WITH_ROWS)
def test_four_times_the_level_is_caught_from_rows(name: str) -> None:
    honest, louder = built(name, 1.0), built(name, 1.0, scale=4.0)
    assert judged(RowTwin(honest, louder), seed=23).refuted


@pytest.mark.parametrize("name", NAMES)
def test_a_mechanism_that_keeps_the_word_is_caught(name: str) -> None:
    @dataclass(frozen=True)
    class Kept(Twin):
        def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
            del randomness
            return points

    honest = built(name, 1.0)
    assert judged(Kept(honest, honest), seed=24).refuted


# --- what is honest only where one looks first -------------------------------------------------

COLORS = Laplace(space=color_space(1.0), epsilon=1.0)
MANY = Laplace(space=words_in_space(120), epsilon=1.0)
LOUDER, MANY_LOUDER = replace(COLORS, epsilon=8.0), replace(MANY, epsilon=8.0)
HIDDEN = {
    "one word of 120 in the clear": OneInTheClear(MANY, MANY),
    "honest for repeated words": HonestForRepeatedWords(COLORS, LOUDER),
    "honest for repeated words of 120": HonestForRepeatedWords(MANY, MANY_LOUDER),
    "less for a word that comes once": LessForAWordThatComesOnce(COLORS, LOUDER),
    "less for one of 120 that comes once": LessForAWordThatComesOnce(MANY, MANY_LOUDER),
}


@pytest.fixture
def fewer_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of the draws in small spaces, which is enough here; ``test_verify.py`` has all."""
    monkeypatch.setattr(verify, "DRAWS_SMALL", 9_000)


@pytest.mark.usefixtures("fewer_draws")
@pytest.mark.parametrize("twin", HIDDEN.values(), ids=HIDDEN)
def test_what_is_honest_only_where_one_looks_first_is_caught(twin: PointMechanism) -> None:
    alpha = budget.level(CHECK, "120 words")
    verdict = refute(twin, confidence=1 - alpha, randomness=Randomness.reproducible(27))
    assert verdict.refuted, verdict.sentence()
    assert verdict.witness is not None
    assert verdict.witness.excess > 0


def test_the_honest_counterpart_on_120_words_is_not_accused() -> None:
    # That on colors is among the mechanisms of the catalog.
    alpha = budget.level(CHECK, "120 words")
    verdict = refute(MANY, confidence=1 - alpha, randomness=Randomness.reproducible(28))
    assert not verdict.refuted, verdict.sentence()
    assert verdict.pairs > 0


def test_one_percent_on_top_for_unknown_words_is_caught() -> None:
    # One in a hundred unknown words becomes 'green', which 1.3 % of them do anyway. A true claim is
    # accused with a chance of 0.01 here, but this one is false: no share of the budget is needed.
    green = COLORS.space.words.index("green")
    twin = UnknownOnTop(COLORS, COLORS, word=green)
    verdict = refute(twin, randomness=Randomness.reproducible(29))
    assert verdict.refuted, verdict.sentence()
    assert verdict.witness is not None
    assert verdict.witness.first == "an unknown word"
    assert "'green'" in verdict.witness.event


@pytest.mark.usefixtures("fewer_draws")
@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.name)
def test_every_exhibit_is_refuted_and_its_repair_is_not(exhibit: Exhibit) -> None:
    alpha = budget.level(CHECK, "repaired exhibits") / len(EXHIBITS)
    # ``examine`` spends half of its budget on the repaired claim; the other half cannot be a
    # false alarm, for that claim is false.
    outcome = examine(exhibit, confidence=1 - 2 * alpha, randomness=Randomness.reproducible(25))
    assert outcome.broken.refuted, outcome.broken.sentence()
    assert not outcome.repaired.refuted, outcome.repaired.sentence()
    assert outcome.as_expected
    assert outcome.broken.witness is not None
    assert outcome.broken.witness.loss > outcome.broken.witness.bound


# --- the procedure itself ----------------------------------------------------------------------


@dataclass(frozen=True)
class TwoFairDice:
    """Two inputs with one and the same law, and the claim that nothing tells them apart."""

    claim: str = "no difference at all"
    delta: float = 0.0
    sides: int = 60

    def pairs(self) -> Sequence[Pair]:
        return [Pair(0, 1, 0.0, 0.0)]

    def name(self, number: int) -> str:
        return str(number)

    def draw(self, number: int, count: int, randomness: Randomness) -> Outputs:
        del number
        return randomness.integers(self.sides, count).astype(np.intp)

    def scores(self, pair: Pair, first: DrawnSample, second: DrawnSample) -> list[Score]:
        """Many scores of no meaning, for a careless procedure to find something in."""
        del pair, first, second
        tables = np.random.default_rng(1).normal(size=(60, self.sides))
        return [Score("noise", _looked_up(table)) for table in tables]

    def describe(self, event: Event, seen: DrawnSample) -> str:
        del seen
        return str(event)


def _looked_up(table: NDArray[np.float64]) -> Any:
    return lambda outputs: table[outputs]


def false_alarms(runs: int, alpha: float) -> int:
    return sum(
        module.falsify(
            TwoFairDice(),
            draws=400,
            alpha=alpha,
            randomness=Randomness.reproducible(26).stream(run),
            advance=lambda _: None,
        ).refuted
        for run in range(runs)
    )


def accuses_too_often(alarms: int, runs: int, alpha: float, case: str = "held-out") -> bool:
    chance = float(stats.binom.sf(alarms - 1, runs, alpha))
    return budget.rejects(CHECK, case, [chance])


def test_a_true_claim_is_accused_no_more_often_than_stated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs, alpha = 60, 0.3
    assert not accuses_too_often(false_alarms(runs, alpha), runs, alpha)
    # The twin chooses the event by looking at the draws that it is then tested on.
    first: dict[int, Drawn] = {}

    def careless(
        subject: Subject,
        numbers: Sequence[int],
        count: int,
        randomness: Randomness,
        advance: Advance | None = None,
    ) -> dict[int, Drawn]:
        if advance is not None:  # the first look
            first.update(draw_each(subject, numbers, count, randomness, advance))
        return {number: first[number] for number in numbers}

    monkeypatch.setattr(module, "draw_each", careless)
    assert accuses_too_often(false_alarms(runs, alpha), runs, alpha)


def false_alarms_on_company(runs: int, alpha: float) -> int:
    subject = WordSubject(mechanism=COLORS, chosen=())
    found = 0
    for run in range(runs):
        source = Randomness.reproducible(30).stream(run)
        drawn = draw_each(subject, range(41), 200, source.stream(0))
        found += company.on_company(subject, drawn, alpha, source.stream(1)) is not None
    return found


def test_a_law_that_does_not_change_is_accused_no_more_often_than_stated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs, alpha = 24, 0.3
    case = "company, held-out"
    assert not accuses_too_often(false_alarms_on_company(runs, alpha), runs, alpha, case)
    # The twin chooses the event by looking at the draws that it is then tested on.
    honest = company.split

    def careless(
        table: NDArray[np.intp],
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        _, _, hold = honest(table)
        return hold, hold, hold

    monkeypatch.setattr(company, "split", careless)
    assert accuses_too_often(false_alarms_on_company(runs, alpha), runs, alpha, case)
