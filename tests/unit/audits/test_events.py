"""Learned events: what is found, on which draws, and what is proven by them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta

from sfumato.audits.events import (
    Choice,
    DrawnSample,
    Event,
    Pair,
    SampleHalves,
    Score,
    choose_event,
    decide_event,
    expect_width,
    propose_events,
)
from unit.audits.subjects import answers

# Limits of 0.01 on as many draws as were scouted.
WIDTH = expect_width(1, 1, 0.01)


def sample(*draws: float) -> DrawnSample:
    return DrawnSample.of(np.array(draws)[:, None])


IDENTITY = Score("the number", lambda outputs: np.asarray(outputs[:, 0], dtype=np.float64))


def test_the_limits_are_clopper_and_pearsons_at_the_level_given() -> None:
    many = sample(*[0.0] * 10, *[1.0] * 90)
    few = sample(*[0.0] * 90, *[1.0] * 10)
    choice = Choice(Pair(0, 1, 0.5, 0.5), Event(IDENTITY, 1.0, above=True), False, 1.0)
    witness = decide_event(answers(epsilon=0.5, truth=2.0), choice, {0: many, 1: few}, 0.001)
    assert witness.likelier == pytest.approx(beta.ppf(0.001, 90, 11))
    assert witness.unlikelier == pytest.approx(beta.isf(0.001, 11, 90))


def test_held_out_draws_decide_whatever_scouting_said() -> None:
    pair, subject = Pair(0, 1, 0.1, 0.1), answers(epsilon=0.1, truth=1.0)
    ones, zeros = sample(*[1.0] * 50), sample(*[0.0] * 50)
    choice = propose_events(
        subject, pair, {0: SampleHalves(ones, ones), 1: SampleHalves(zeros, zeros)}, WIDTH
    )
    assert choice is not None
    first, second = choice.inputs
    assert decide_event(subject, choice, {0: ones, 1: zeros}, 0.01).excess > 0
    turned = decide_event(subject, choice, {0: zeros, 1: ones}, 0.01)
    assert (turned.first, turned.second) == (subject.name(first), subject.name(second))
    assert turned.loss == -math.inf


def test_an_event_promises_more_the_more_draws_will_decide() -> None:
    first = sample(*[0.0] * 970, *[1.0] * 30)
    second = sample(*[0.0] * 985, *[1.0] * 15)
    promises = []
    for held in (1000, 100_000):
        width = expect_width(1000, held, 1e-4)
        choice = choose_event([IDENTITY], Pair(0, 1, 0.2, 0.2), (first, second), width, 0.0)
        assert choice is not None
        promises.append(choice.promise)
    assert promises[0] < 0 < promises[1]


def test_what_came_once_or_never_promises_little() -> None:
    # Twice against never looks infinite; sixty against twenty is surer to hold.
    rare = choose_event(
        [IDENTITY],
        Pair(0, 1, 0.1, 0.1),
        (sample(*[0.0] * 998, *[1.0] * 2), sample(*[0.0] * 1000)),
        WIDTH,
        0.0,
    )
    solid = choose_event(
        [IDENTITY],
        Pair(0, 1, 0.1, 0.1),
        (sample(*[0.0] * 940, *[1.0] * 60), sample(*[0.0] * 980, *[1.0] * 20)),
        WIDTH,
        0.0,
    )
    assert rare is not None
    assert solid is not None
    assert rare.promise < 0 < solid.promise


def test_the_best_threshold_and_direction_are_found() -> None:
    first = sample(*[1.0] * 400, *[2.0] * 300, *[3.0] * 300)
    second = sample(*[1.0] * 400, *[2.0] * 590, *[3.0] * 10)
    choice = choose_event([IDENTITY], Pair(0, 1, 0.1, 0.1), (first, second), WIDTH, 0.0)
    assert choice is not None
    assert (choice.event.threshold, choice.event.above, choice.turned) == (3.0, True, False)
    swapped = choose_event([IDENTITY], Pair(0, 1, 0.1, 0.1), (second, first), WIDTH, 0.0)
    assert swapped is not None
    assert (swapped.event.threshold, swapped.event.above, swapped.turned) == (3.0, True, True)


def test_a_direction_of_which_nothing_is_claimed_is_left_alone() -> None:
    first, second = sample(*[3.0] * 300, *[1.0] * 300), sample(*[1.0] * 600)
    choice = choose_event([IDENTITY], Pair(0, 1, math.inf, 0.1), (first, second), WIDTH, 0.0)
    assert choice is None or choice.turned


def test_outputs_without_a_score_belong_to_no_event() -> None:
    def masked(outputs: object) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        values = np.asarray(outputs, dtype=np.float64)[:, 0]
        return np.where(values == 3.0, np.nan, values)

    score = Score("masked", masked)
    # Only the output without a score tells the two apart; what is left is the same for both.
    first = sample(*[1.0] * 400, *[2.0] * 400, *[3.0] * 400)
    second = sample(*[1.0] * 600, *[2.0] * 600)
    choice = choose_event([score], Pair(0, 1, 0.0, 0.0), (first, second), WIDTH, 0.0)
    assert choice is not None
    assert choice.event.hits(first) <= 800
    for above in (True, False):
        assert Event(score, 2.5, above).hits(first) == (0 if above else 800)


def test_where_no_output_has_a_score_there_is_no_event() -> None:
    nothing = Score("nothing", lambda outputs: np.full(len(outputs), np.nan))
    both = (sample(1.0, 2.0), sample(3.0, 4.0))
    assert choose_event([nothing], Pair(0, 1, 0.0, 0.0), both, WIDTH, 0.0) is None
    found = choose_event([nothing, IDENTITY], Pair(0, 1, 0.0, 0.0), both, WIDTH, 0.0)
    assert found is None or found.event.score is IDENTITY


def test_scouting_draws_are_split_into_halves() -> None:
    halves = SampleHalves.of(np.arange(1001))
    assert (halves.learn.total, halves.choose.total) == (500, 501)
    assert set(halves.learn.outputs.tolist()).isdisjoint(halves.choose.outputs.tolist())
