"""What the exhibits say of Flower is what Flower does, with ten clients and its own classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.serverapp.strategy import (
    DifferentialPrivacyServerSideAdaptiveClipping,
    DifferentialPrivacyServerSideFixedClipping,
    FedAvg,
)

from federated.grid import InProcess
from sfumato.audits.exhibits import federation


def mean(
    updates: Sequence[float], examples: Sequence[int] | None = None, loss: float = 1.0
) -> tuple[float, Any]:
    """The mean that flwr's wrapper computes for a weight of 0, without noise, and the metrics."""
    wrapper = DifferentialPrivacyServerSideFixedClipping(FedAvg(), 0.0, 1.0, federation.ASKED)
    return _run(wrapper, updates, examples, loss)


def _run(
    wrapper: Any, updates: Sequence[float], examples: Sequence[int] | None = None, loss: float = 1.0
) -> tuple[float, Any]:
    grid = InProcess({n: {} for n in range(1, 11)}, {})
    start = ArrayRecord({"w": Array(np.zeros(1))})
    list(wrapper.configure_train(1, start, ConfigRecord(), grid))
    replies = []
    for number, update in enumerate(updates):
        asked = Message(RecordDict(), dst_node_id=number + 1, message_type="train")
        count = 1 if examples is None else examples[number]
        content = RecordDict({
            "arrays": ArrayRecord({"w": Array(np.array([update]))}),
            "metrics": MetricRecord({"num-examples": count, "loss": loss}),
        })  # fmt: skip
        replies.append(Message(content, reply_to=asked))
    arrays, metrics = wrapper.aggregate_train(1, replies)
    return float(arrays["w"].numpy()[0]), metrics


def test_weights_are_the_clients_own() -> None:
    updates = [3 * one for one in (*federation.OTHERS, federation.CLIENT)]
    examples = [1] * 9 + [federation.EXAMPLES]
    assert mean(updates, examples)[0] == pytest.approx(federation.weighted_mean(updates, examples))
    moved = mean(updates, examples)[0] - mean(updates[:9], examples[:9])[0]
    assert moved == pytest.approx(1.98, abs=0.01)


def test_the_mean_is_over_those_who_answer() -> None:
    assert mean([-1.0])[0] == -1.0
    assert mean([-1.0, 1.0])[0] == 0.0


def test_noise_is_for_those_who_were_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    scales: list[float] = []

    def normal(_: float, scale: float, shape: tuple[int, ...]) -> Any:
        scales.append(scale)
        return np.zeros(shape)

    monkeypatch.setattr(np.random, "normal", normal)
    wrapper = DifferentialPrivacyServerSideFixedClipping(FedAvg(), federation.NOISE, 1.0, 10)
    _run(wrapper, [-1.0, 1.0])
    assert scales == [federation.NOISE / federation.ASKED]


def test_an_update_of_zero_and_one_that_is_not_finite() -> None:
    with pytest.raises(ZeroDivisionError):
        mean([0.0])
    with pytest.raises(ZeroDivisionError):
        federation.clip(0.0)
    assert math.isnan(mean([1.0, math.nan])[0])


def test_metrics_are_returned_without_noise() -> None:
    wrapper = DifferentialPrivacyServerSideFixedClipping(FedAvg(), 100.0, 1.0, 10)
    assert _run(wrapper, [1.0, -1.0], loss=1.25)[1]["loss"] == 1.25


def test_adaptive_clipping_scales_its_noise_with_the_next_norm_and_runs_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scales: list[float] = []

    def normal(center: float, scale: float, shape: tuple[int, ...] = ()) -> Any:
        scales.append(scale)
        return center + np.zeros(shape)

    monkeypatch.setattr(np.random, "normal", normal)
    wrapper = DifferentialPrivacyServerSideAdaptiveClipping(
        FedAvg(), 0.05, federation.ASKED, initial_clipping_norm=1.0
    )
    value, _ = _run(wrapper, [5.0] * 10)
    following = federation.next_norm(1.0, 1.0, rate=0.2)
    assert value == pytest.approx(1.0)  # clipped with the norm of this round
    assert wrapper.clipping_norm == pytest.approx(following)
    assert scales[-1] == pytest.approx(wrapper.noise_multiplier * following / federation.ASKED)
    for _ in range(29):
        _run(wrapper, [5.0] * 10)
    assert wrapper.clipping_norm < 0.06  # all updates are longer than it, and it shrinks
