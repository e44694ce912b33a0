"""The noise on states that leave private stretches, in training as it runs, and what it prevents.

The attacker knows the weights, all public text and ten candidates for the one private token. From
the update that the public stretch behind the secret makes, he picks the candidate whose update is
nearest. A release with shift μ against the state 0 lets nobody pick the right one of k equally
likely candidates with a probability above Φ(Φ⁻¹(1/k) + μ): each of the k decisions has at most that
power at its own false-alarm rate, these rates sum up to 1, and the power is concave in them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy import stats
from torch import Tensor

from sfumato.core.randomness import Randomness
from sfumato.models.bpe import train_bpe
from sfumato.models.load import LoadedModel, load_model
from sfumato.models.lstm_layer import State
from sfumato.policies.parsing import combine_policies
from sfumato.text.document import Document
from sfumato.training.clipping.release import add_noise
from sfumato.training.methods.interleaved import Interleaved, InterleavedPlan
from sfumato.training.methods.interleaved_steps import InterleavedRun, StateRelease, clip_state
from sfumato.training.methods.stretch_records import Step, StretchRecords, stretch_records
from sfumato.training.settings import Course, Privacy
from statistical import budget

NORM, SIGMA, DIGITS, TRIALS = 0.3, 2.0, 10, 300

Release = Callable[[StateRelease, State, Randomness], State]
honest = StateRelease.release


@cache
def model() -> LoadedModel:
    tokenizer = train_bpe(["a public text about nothing at all"] * 2, public=True, size=270)
    made = load_model(
        "lstm",
        randomness=Randomness.reproducible(1),
        tokenizer=tokenizer,
        settings={"hidden": 16, "embedding": 8},
    )
    with torch.no_grad():
        # Different tokens leave very different states: the best case for the attacker.
        made.network.get_input_embeddings().weight.mul_(60.0)  # type: ignore[operator]
    return made


def cut(texts: list[str]) -> StretchRecords:
    policy = combine_policies(["digits"], [], {})
    return stretch_records([Document(text) for text in texts], policy, model().tokenizer)


def begun(records: StretchRecords, noise: float, seed: int = 1) -> InterleavedRun:
    privacy = Privacy(epsilon=8.0, delta=1e-2, epochs=1, batch_sizes=(len(records),))
    plan = InterleavedPlan.of(records, privacy, Interleaved(state_clip_norm=NORM))
    course = Course(optimizer="sgd", learning_rate=1e-3)
    return InterleavedRun.begun(
        model(),
        records,
        replace(plan, noise_multiplier=noise),
        course,
        Randomness.reproducible(seed),
    )


# --- the noise -----------------------------------------------------------------------------------


def waiting(noise: float, step: int) -> NDArray[np.float64]:
    """The states that go on after one step of training, from the same weights every time."""
    records = cut([f"text {number} about all" for number in range(40)])
    before = {name: one.clone() for name, one in model().network.state_dict().items()}
    run = begun(records, noise)
    everybody = np.arange(len(records))
    run.take(Step(step, everybody, np.zeros_like(everybody)))
    run.step.close()
    model().network.load_state_dict(before)
    states = torch.stack([run.waiting[one] for one in everybody.tolist()])
    return np.asarray(states.double().numpy())


def is_wrong(release: Release, monkeypatch: pytest.MonkeyPatch) -> bool:
    exact = waiting(0.0, 0)
    monkeypatch.setattr(StateRelease, "release", release)
    first, second = (waiting(SIGMA, step) - exact for step in (0, 1))
    # Hidden and cell state on their own, and whether steps, documents or the two go together.
    samples = [first[:, 0], first[:, 1]]
    for one, other in ((first, second), (first[::2], first[1::2]), (first[:, 0], first[:, 1])):
        samples += [(one + other) / 2**0.5, (one - other) / 2**0.5]
    p_values = [value for one in samples for value in fits_normal(one.ravel(), SIGMA * NORM)]
    return budget.rejects("training: states", "noise", p_values)


def fits_normal(sample: NDArray[np.float64], deviation: float) -> list[float]:
    total, law = float(np.square(sample / deviation).sum()), stats.chi2(len(sample))
    of_squares = min(1.0, 2 * min(law.cdf(total), law.sf(total)))
    return [budget.fits_law(sample, stats.norm(scale=deviation)), of_squares]


def without_the_bound(self: StateRelease, states: State, randomness: Randomness) -> State:
    return honest(
        replace(self, clip_norm=self.clip_norm * 1e3, noise_multiplier=self.noise_multiplier / 1e3),
        states,
        randomness,
    )


def with_half_the_noise(self: StateRelease, states: State, randomness: Randomness) -> State:
    return honest(replace(self, noise_multiplier=self.noise_multiplier / 2), states, randomness)


def without_the_cell(self: StateRelease, states: State, randomness: Randomness) -> State:
    hidden, cell = clip_state(torch.cat(states, dim=1), self.clip_norm).chunk(2, dim=1)
    noisy = hidden.contiguous()
    add_noise([noisy], self.noise_multiplier * self.clip_norm, randomness)
    return noisy, cell


def with_the_same_noise_for_all(self: StateRelease, states: State, randomness: Randomness) -> State:
    joined = clip_state(torch.cat(states, dim=1), self.clip_norm)
    noise = torch.zeros_like(joined[:1])
    add_noise([noise], self.noise_multiplier * self.clip_norm, randomness)
    hidden, cell = (joined + noise).chunk(2, dim=1)
    return hidden, cell


def test_released_states_have_the_promised_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_wrong(honest, monkeypatch)


@pytest.mark.parametrize(
    "twin",
    [without_the_bound, with_half_the_noise, without_the_cell, with_the_same_noise_for_all],
)
def test_twins_are_caught(twin: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_wrong(twin, monkeypatch)


def test_states_are_within_the_bound_jointly() -> None:
    """Without noise; the honest states of these weights are far longer."""
    states = waiting(0.0, 0)
    assert np.linalg.norm(states.reshape(len(states), -1), axis=1).max() <= NORM
    assert np.linalg.norm(states.reshape(len(states), -1), axis=1).min() > 0.99 * NORM


# --- the attack ----------------------------------------------------------------------------------


class Attack:
    """Which digit stood in "text 7 about all", from the update on " about all"."""

    def __init__(self) -> None:
        self.records = cut([f"text {digit} about all" for digit in range(DIGITS)])
        self.run = begun(self.records, 0.0)
        self.start = {name: one.clone() for name, one in model().network.state_dict().items()}
        states = torch.zeros(2, DIGITS, 16)
        turns = [self.records.turn(digit, 0) for digit in range(DIGITS)]
        for stretches in ([one.public for one in turns], [one.private for one in turns]):
            self._read(dict(enumerate(stretches)), states)
        # What each candidate would leave, before the noise.
        self.candidates = states
        exact = StateRelease(clip_norm=NORM, noise_multiplier=0.0)
        self.guesses = torch.stack([self.update(digit, exact, 0) for digit in range(DIGITS)])

    def _read(self, stretches: dict[int, tuple[int, int]], states: Tensor) -> None:
        from sfumato.training.methods.stretch_records import row_batches

        for rows in row_batches(self.records, stretches, 4096):
            self.run._advance(rows, states)

    def update(self, digit: int, release: StateRelease, trial: int) -> Tensor:
        """What the next public stretch does to the weights, from the released state."""
        states = self.candidates[:, digit : digit + 1]
        stream = Randomness.reproducible(9).stream(trial)
        released = torch.stack(release.release((states[0], states[1]), stream))
        self.run.public_update({0: self.records.turn(digit, 1).public}, released)
        parameters = model().network.state_dict()
        moved = [(parameters[name] - one).flatten() for name, one in self.start.items()]
        model().network.load_state_dict(self.start)
        return torch.cat(moved)

    def right(self, noise: float) -> int:
        release = StateRelease(clip_norm=NORM, noise_multiplier=noise)
        found = 0
        for trial in range(TRIALS):
            seen = self.update(trial % DIGITS, release, trial + 1)
            found += int((self.guesses - seen).norm(dim=1).argmin()) == trial % DIGITS
        return found


@pytest.fixture(scope="module")
def attack() -> Attack:
    return Attack()


def is_above_the_bound(right: int) -> bool:
    bound = float(stats.norm.cdf(stats.norm.ppf(1 / DIGITS) + 1 / SIGMA))
    return budget.rejects("training: states", "attack", [budget.at_most(right, TRIALS, bound)])


def test_the_public_update_tells_the_secret_without_noise(attack: Attack) -> None:
    assert attack.right(0.0) == TRIALS
    assert is_above_the_bound(TRIALS)


def test_with_noise_recovery_falls_to_the_bound(attack: Attack) -> None:
    assert not is_above_the_bound(attack.right(SIGMA))


def test_too_little_noise_is_caught(attack: Attack) -> None:
    assert is_above_the_bound(attack.right(SIGMA / 10))
