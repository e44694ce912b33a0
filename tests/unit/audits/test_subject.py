"""A word mechanism as a subject: its draws are checked, its claim must be one."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.audits.events import DrawnSample, Event, Pair, Score
from sfumato.audits.subject import WordSubject, check_claims_something, point_name
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, Notion, metric_dp, no_guarantee
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.sanitize_plus import SanitizePlus
from sfumato.vectors.space import Space


@dataclass(frozen=True, kw_only=True)
class Says:
    """A mechanism that gives whatever it is told to."""

    space: Space
    outputs: Any = None
    stated: Guarantee | None = None

    def guarantee(self) -> Guarantee:
        return self.stated or metric_dp(epsilon=1.0, metric=self.space.metric)

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        del randomness
        if isinstance(self.outputs, Exception):
            raise self.outputs
        return points if self.outputs is None else np.asarray(self.outputs)


def drawn(mechanism: Says, count: int = 3) -> list[int]:
    subject = WordSubject(mechanism=mechanism, chosen=[])
    return np.asarray(subject.draw(0, count, Randomness.secure())).tolist()  # type: ignore[no-any-return]


def test_draws_are_made_for_one_input(small_space: Space) -> None:
    assert drawn(Says(space=small_space)) == [0, 0, 0]
    assert drawn(Says(space=small_space, outputs=np.array([1, 12, 2]))) == [1, 12, 2]


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (np.array([1, 2]), r"one whole number per point.*shape \(2,\)"),
        (np.array([1.0, 2.0, 3.0]), "float64"),
        (np.array([1, 2, 13]), "no point of the space"),
        (np.array([-1, 2, 3]), "no point of the space"),
        (KeyError("x"), "KeyError"),
    ],
)
def test_what_is_no_draw_is_refused(small_space: Space, outputs: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        drawn(Says(space=small_space, outputs=outputs))


def test_errors_of_our_own_pass_as_they_are(small_space: Space) -> None:
    with pytest.raises(InvalidArgument, match=r"^bad level$"):
        drawn(Says(space=small_space, outputs=InvalidArgument("bad level")))


def test_baselines_claim_nothing(small_space: Space) -> None:
    for stated in (
        no_guarantee(unit="word"),
        replace(metric_dp(epsilon=1.0, metric=""), epsilon=math.inf),
    ):
        with pytest.raises(InvalidArgument, match="nothing is claimed"):
            check_claims_something(Says(space=small_space, stated=stated))


def test_levels_that_bound_no_ratio_are_refused(small_space: Space) -> None:
    stated = Guarantee(notion=Notion.ZCDP, unit="word", neighbors="two words", epsilon=0.5)
    with pytest.raises(InvalidArgument, match="zero-concentrated"):
        check_claims_something(Says(space=small_space, stated=stated))


def test_events_never_hold_outputs_that_the_claim_leaves_out(random_space: Space) -> None:
    mechanism = SanitizePlus(space=random_space, epsilon=1.0)
    subject = WordSubject(mechanism=mechanism, chosen=[])
    seen = DrawnSample.of(np.arange(201))
    for score in subject.scores(Pair(0, 150, 1.0, 1.0), seen, seen):
        for above in (True, False):
            inside = Event(score, -1e9 if above else 1e9, above).contains(np.arange(201))
            assert (inside == np.append(mechanism.is_sensitive[:-1], False)).all()


def test_an_event_is_described_by_its_most_frequent_words(small_space: Space) -> None:
    subject = WordSubject(mechanism=Laplace(space=small_space, epsilon=1.0), chosen=[])
    score = Score("the number", lambda outputs: outputs.astype(np.float64))
    seen = DrawnSample(np.arange(8), np.array([1, 9, 8, 7, 6, 5, 4, 3]))
    few = subject.describe(Event(score, 1.0, above=False), seen)
    assert few == "the output is 'rome' or 'paris'"
    many = subject.describe(Event(score, 1.0, above=True), seen)
    assert many.startswith("the output is 'rome' or 'berlin' or 'madrid' or 'vienna' or one of 3")
    assert many.endswith("more words for which the number is at least 1")


def test_the_point_of_unknown_words_has_a_name(small_space: Space) -> None:
    assert point_name(small_space, 12) == "an unknown word"
    assert WordSubject(mechanism=Says(space=small_space), chosen=[]).name(0) == "'paris'"
