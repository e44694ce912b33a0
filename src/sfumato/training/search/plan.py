"""The plan of a search: the law of the number of trials, and the noise of each setting.

Guarantee
    The best model of the search, with its settings and its score, is (ε, δ)-DP for neighbors of
    which one lacks a unit of the other, its place left empty. The number of trials and everything
    about the other trials is not released.

Why it holds
    ``accounting.selection``: a trial draws its settings from a public law, trains by DP-SGD with
    the noise of these settings, and scores its model. Every combination of settings that decide the
    noise is a candidate, and the level is that of the worst.

    The score is a function of the model and of public text, hence post-processing; or it is a noisy
    release about held-out units, which the model was not trained on. Then each unit is either
    trained on or held out, by a split that does not look at the data, and a trial releases about it
    either the steps or the score. So the level of the search is the larger of the two, and each
    gets all of ε.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sfumato.accounting.accountants import compute_spending
from sfumato.accounting.events import SampledGaussian
from sfumato.accounting.reconstruction import most_rebuilt
from sfumato.accounting.selection import BestOfTrials, Releases
from sfumato.accounting.solving import least, round_up
from sfumato.accounting.trials import TrialCount
from sfumato.core.checks import positive
from sfumato.core.errors import InvalidArgument
from sfumato.core.json import write_number
from sfumato.guarantees.guarantee import Guarantee
from sfumato.guarantees.wording import at_most
from sfumato.training.plan import Plan, quietly, silently
from sfumato.training.search.space import deciding
from sfumato.training.stages import scale_stages

SCOPE = (
    "the best model of a search over settings (its weights after every step, its settings and its "
    "score)"
)
LEAKS = (
    "the law of the search (what was tried, and how many trials there are on average)",
    "how long the search took, to whoever watched it: that tells about the number of trials",
)


@dataclass(frozen=True)
class Candidate:
    """Settings that decide the noise, and the plan of a trial with them."""

    settings: Mapping[str, Any]
    plan: Plan

    @property
    def events(self) -> Releases:
        """What a trial releases."""
        return self.plan.events()


@dataclass(frozen=True, kw_only=True)
class SearchPlan:
    """Noise for every candidate, such that the whole search keeps ``epsilon`` at ``delta``.

    ``score_noise`` is the noise on the score of held-out units, in units of what one of them can
    change; None if the score is public.
    """

    epsilon: float
    delta: float
    trials: TrialCount
    candidates: tuple[Candidate, ...]
    accountant: str = "pld"
    score_noise: float | None = None

    def level(self) -> float:
        """The proven level of the whole search."""
        found = self._best(tuple(one.events for one in self.candidates)).epsilon(self.delta)
        if self.score_noise is None:
            return found
        return max(found, self._best((_one_release(self.score_noise),)).epsilon(self.delta))

    def level_at(self, delta: float) -> float:
        """The same at another delta."""
        return replace(self, delta=delta).level()

    def most_rebuilt(self, prior: float) -> float:
        """The largest probability to guess a unit that is guessed with ``prior`` without the model.

        See ``accounting.reconstruction``.
        """

        def level(delta: float) -> float:
            try:
                return self.level_at(delta) if delta else math.inf
            except InvalidArgument:  # this accountant has no answer for so small a delta
                return math.inf

        return most_rebuilt(level, prior)

    def _best(self, candidates: tuple[Releases, ...]) -> BestOfTrials:
        return BestOfTrials(self.trials, candidates, self.accountant)

    def solved(self, *, held_out: bool) -> SearchPlan:
        """The same search with the least noise that keeps its level."""
        wanted = positive("epsilon", self.epsilon)
        each = tuple(self._scaled(one, self._factor((one,), wanted)) for one in self.candidates)
        made = replace(self, candidates=each)
        if made.level() > wanted:  # the worst level and the worst ratio are of different candidates
            factor = made._factor(each, wanted)
            made = replace(made, candidates=tuple(self._scaled(one, factor) for one in each))
        if not held_out:
            return made
        noise = least(
            lambda z: self._best((_one_release(z),)).epsilon(self.delta), wanted, guess=1.0
        )
        return replace(made, score_noise=round_up(noise))

    def _factor(self, candidates: tuple[Candidate, ...], wanted: float) -> float:
        def level(factor: float, accountant: str) -> float:
            scaled = tuple(self._scaled(one, factor).events for one in candidates)
            return BestOfTrials(self.trials, scaled, accountant).epsilon(self.delta)

        # Rényi divergences are faster, and their answer is close; it need not be exact.
        near = least(lambda factor: level(factor, "rdp"), wanted, 1.0, close=0.05)
        guess = near if 0 < near < math.inf else 1.0
        found = least(lambda factor: level(factor, self.accountant), wanted, guess)
        if not 0 < found < math.inf:
            raise InvalidArgument(
                f"epsilon={wanted:g} cannot be kept by a search with {self.trials.mean:g} trials "
                "on average; allow more, or fewer trials"
                if found
                else f"epsilon={wanted:g} is so large that hardly any noise is left; a search "
                "needs a level that means something"
            )
        return found

    @staticmethod
    def _scaled(one: Candidate, factor: float) -> Candidate:
        return replace(one, plan=silently(one.plan, stages=scale_stages(one.plan.stages, factor)))

    def candidate(self, drawn: Mapping[str, Any]) -> Candidate:
        """The candidate of a trial's settings."""
        wanted = deciding(drawn)
        return next(one for one in self.candidates if dict(one.settings) == wanted)

    def check(self, plan: object, drawn: Mapping[str, Any]) -> None:
        """Refuse a plan of a trial that is not the one that was charged."""
        charged = self.candidate(drawn).plan
        # A plan of another class may release more than its steps, such as forms before them.
        if type(plan) is not Plan or not _covers(charged, plan):
            raise InvalidArgument(
                "a trial's plan is not the one that the search was charged for; the corpus has "
                "another number of units, or a setting is not what it was"
            )

    def promise(self, single: Guarantee) -> Guarantee:
        """The guarantee of one trial, restated for the search."""
        stated = replace(single, epsilon=self.level(), delta=self.delta, scope=SCOPE)
        return stated.leaking(*LEAKS)

    def compare(self) -> dict[str, Any]:
        """What the search costs beside a single run, and beside all trials added up; for JSON."""
        rows = []
        for one in self.candidates:
            with quietly():
                single = one.plan.with_epsilon(self.epsilon).noise_multiplier
            alone = one.plan.epsilon()
            rows.append(
                dict(one.settings)
                | {
                    "steps": one.plan.steps,
                    "noise_multiplier": one.plan.noise_multiplier,
                    "noise_of_a_single_run": single,
                    "epsilon_of_one_trial": write_number(alone),
                    "epsilon_added_up": write_number(self.trials.mean * alone),
                    "epsilon_composed": write_number(self._composed(one)),
                }
            )
        return {
            "epsilon": write_number(self.level()),
            "delta": self.delta,
            "trials": self.trials_dict(),
            "candidates": rows,
            "score_noise": self.score_noise,
        }

    def _composed(self, one: Candidate) -> float:
        """The level if the mean number of trials, made on purpose, were all released."""
        count = math.ceil(self.trials.mean)
        every = [replace(event, count=event.count * count) for event in one.events]
        return compute_spending(every, self.accountant).epsilon(self.delta)

    def trials_dict(self) -> dict[str, Any]:
        """The law of the number of trials, for JSON."""
        return {
            "law": self.trials.law,
            "shape": write_number(self.trials.shape),
            "mean": self.trials.mean,
            "median": self.trials.quantile(0.5),
            "at_most_in_95_of_100": self.trials.quantile(0.95),
        }

    def as_dict(self) -> dict[str, Any]:
        """For JSON: everything that decides the privacy of the search; all of it is public."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "accountant": self.accountant,
            "trials": self.trials_dict(),
            "candidates": [
                {"settings": dict(one.settings), "plan": one.plan.as_dict()}
                for one in self.candidates
            ],
            "score_noise": self.score_noise,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> SearchPlan:
        """The inverse of ``as_dict``."""
        trials = values["trials"]
        with quietly():
            candidates = tuple(
                Candidate(dict(one["settings"]), Plan.from_dict(one["plan"]))
                for one in values["candidates"]
            )
        return cls(
            epsilon=float(values["epsilon"]),
            delta=float(values["delta"]),
            accountant=str(values["accountant"]),
            trials=TrialCount(mean=float(trials["mean"]), shape=float(trials["shape"])),
            candidates=candidates,
            score_noise=values["score_noise"],
        )

    def lines(self) -> tuple[str, ...]:
        """A summary in lines."""
        law = self.trials
        first = (
            f"{law.mean:g} trials on average ({law.law}), half of the time at most "
            f"{law.quantile(0.5)}, and in 95 of 100 searches at most {law.quantile(0.95)}"
        )
        shown = []
        for row in self.compare()["candidates"]:
            named = ", ".join(f"{key}={row[key]}" for key in deciding(row)) or "each trial"
            shown.append(
                f"{named}: {row['steps']:,} steps with noise multiplier "
                f"{row['noise_multiplier']:.4g}; a single run at the same ε would have "
                f"{row['noise_of_a_single_run']:.4g}; {law.mean:g} trials like this added up "
                f"would cost ε {at_most(float(row['epsilon_added_up']), 3)}, composed "
                f"{at_most(float(row['epsilon_composed']), 3)}"
            )
        return (first, *shown)


def _one_release(noise: float) -> Releases:
    return (SampledGaussian(noise_multiplier=noise),)


def _covers(charged: Plan, plan: Plan) -> bool:
    """Whether a plan releases what was charged, with at least as much noise."""
    mine, theirs = charged.events(), plan.events()
    same = all(
        (one.rate, one.count) == (other.rate, other.count)
        and other.noise_multiplier >= one.noise_multiplier
        for one, other in zip(mine, theirs, strict=False)
    )
    about = ("units", "unit", "neighbors", "delta")
    return (
        len(mine) == len(theirs)
        and same
        and all(getattr(charged, name) == getattr(plan, name) for name in about)
    )
