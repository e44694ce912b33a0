"""Whether a word's law depends on its company: every kind of company is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.audits import company
from sfumato.audits.candidates import color_space
from sfumato.audits.company import SIZES, draw_alone, draw_each, draw_once, on_company
from sfumato.audits.events import Choice, DrawnSample, Examined, decide_event
from sfumato.audits.points import sample_pairs
from sfumato.audits.subject import WordSubject
from sfumato.audits.verdict import Witness
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.mechanism import PointMechanism
from statistical import budget
from unit.audits.subjects import HonestForRepeatedWords, LessForAWordThatComesOnce, Twin

HONEST = Laplace(space=color_space(1.0), epsilon=1.0)
LOUDER = Laplace(space=color_space(1.0), epsilon=8.0)
ALPHA = budget.level("audits: true claims", "company")
NUMBERS = list(range(41))


@dataclass(frozen=True)
class Watched(Twin):
    """Keeps what it was called with."""

    calls: list[NDArray[np.intp]] = field(default_factory=list)

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        self.calls.append(points.copy())
        return super().privatize(points, randomness)


@dataclass(frozen=True)
class LessForAWordAlone(Twin):
    """As it should be in every call but those of one word."""

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        return (self.draws if len(points) == 1 else self.claims).privatize(points, randomness)


def source() -> Randomness:
    return Randomness.reproducible(31)


def judged(mechanism: PointMechanism, draws: int = 4000) -> Witness | None:
    subject = WordSubject(mechanism=mechanism, chosen=())
    drawn = draw_each(subject, NUMBERS, draws, source().stream(0))
    return on_company(subject, drawn, ALPHA, source().stream(1))


def test_a_law_that_is_the_same_in_every_company_is_not_accused() -> None:
    assert judged(HONEST) is None


@pytest.mark.parametrize(
    ("twin", "where"),
    [
        (HonestForRepeatedWords, (company.CROWD, company.ONCE)),
        (LessForAWordThatComesOnce, (company.ONCE, company.ALONE)),
        (LessForAWordAlone, (company.ALONE,)),
    ],
)
def test_a_law_that_changes_with_the_company_is_shown(
    twin: type[Twin], where: tuple[int, ...]
) -> None:
    witness = judged(twin(HONEST, LOUDER))
    assert witness is not None
    assert witness.excess > 0
    names = {witness.first, witness.second}
    assert company.NAMES[company.EQUAL] in names
    assert names & {company.NAMES[place] for place in where}


def test_the_comparisons_share_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    levels: list[float] = []

    def noted(
        subject: Examined, choice: Choice, held: Mapping[int, DrawnSample], alpha: float
    ) -> Witness:
        levels.append(alpha)
        return decide_event(subject, choice, held, alpha)

    monkeypatch.setattr(company, "decide_event", noted)
    judged(HONEST, draws=400)
    # Two limits for each of three comparisons.
    assert len(levels) == 3
    assert sum(2 * level for level in levels) == pytest.approx(ALPHA)


def test_each_word_is_drawn_as_often_as_every_other_in_each_company() -> None:
    watched = Watched(HONEST, HONEST)
    subject = WordSubject(mechanism=watched, chosen=())
    drawn = draw_each(subject, NUMBERS, 101, source())
    assert {(len(one.equal), len(one.crowd)) for one in drawn.values()} == {(51, 50)}
    crowd, *equal = watched.calls
    assert (np.bincount(crowd) == 50).all()
    assert (np.diff(crowd) < 0).any()
    assert all((call == call[0]).all() for call in equal)
    assert len(drawn[3].outputs) == 101


def test_words_come_once_in_calls_of_many_sizes_and_alone_in_calls_of_one() -> None:
    numbers = np.array(NUMBERS)
    watched = Watched(HONEST, HONEST)
    subject = WordSubject(mechanism=watched, chosen=())
    assert draw_once(subject, numbers, 3, source()).shape == (41, 3)
    assert all(len(np.unique(call)) == len(call) for call in watched.calls)
    assert set(SIZES[:5]) <= {len(call) for call in watched.calls}
    assert (np.bincount(np.concatenate(watched.calls)) == 3).all()
    watched.calls.clear()
    assert draw_alone(subject, numbers, 2, source()).shape == (41, 2)
    assert {len(call) for call in watched.calls} == {1}


def test_outputs_stand_beside_the_words_that_went_in() -> None:
    keeps = WordSubject(mechanism=Watched(HONEST, Kept(HONEST, HONEST)), chosen=())
    drawn = draw_each(keeps, NUMBERS[:40], 10, source())
    assert all((one.outputs == number).all() for number, one in drawn.items())


@dataclass(frozen=True)
class Kept(Twin):
    """What goes in comes out."""

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        del randomness
        return points


def test_a_subject_draws_for_the_words_of_its_pairs_and_for_their_company() -> None:
    pairs = sample_pairs(HONEST, (), None, source())[:1]
    subject = WordSubject(mechanism=HONEST, chosen=pairs, company=(5, 6))
    assert list(subject.beside()) == [5, 6]
