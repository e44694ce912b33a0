"""``property-inference``: how large a share of the training texts has a property?

A company does not want to tell how many of its customers complain, or how many patients have an
illness. No single text says so, and differential privacy for single texts does not promise to hide
it: a model is trained to learn what most texts have in common.

The attacker supposes that the share is low or high (``shares``), and has text of the same kind.
From it they train shadows with either share as the target was trained, with its noise if it has
any, ask them all the same questions, and learn to tell the two kinds apart by the answers: the
probability of each question's text, or of its classes for a classifier.

Figures
    ``accuracy``: how many shadows are told rightly by an attacker who learned from others, trained
    on other documents (``shadows.py``, ``telling.py``): what a model trained like the target gives
    away. ``target``: whether the target itself was told rightly, 1 or 0, if the text it was trained
    on is given (``members``) and its share is near one of the two.

Control
    The same between shadows of equal share, half of which are called high.

What a level proves
    (ε, δ) is about one text. To change the share, n·|t1 − t0| of n texts must be replaced, each of
    them removed and another added; so group privacy proves k·ε with k = 2·n·|t1 − t0|, which is
    nothing for any usual n. This attack shows what such a guarantee does not promise.

Care
    A figure is for two shares that are far apart, and for text like the attacker's. If the target's
    share is neither of the two, the verdict says which is nearer in its effect, not what it is.
    Shadows of one half of the text share documents with each other, so they are told rightly or
    wrongly together more often than independent ones; intervals do not count with that.
    Only answers are used; whoever has the weights may learn more from them.

Reference
    Ateniese et al. 2015, "Hacking smart machines with smarter ones", for meta-classifiers; Ganju et
    al. 2018, "Property inference attacks on fully connected neural networks using permutation
    invariant representations"; Zhang, Tople and Ohrimenko 2021, "Leakage of dataset properties in
    multi-party machine learning", for answers to questions; Mahloujifar, Ghosh and Chase 2022,
    "Property inference from poisoning".
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sfumato.attacks.attack import Done, Inputs, Needs
from sfumato.attacks.membership.evidence import losses, neutral
from sfumato.attacks.membership.gathering import measure_target
from sfumato.attacks.membership.signals import statistic
from sfumato.attacks.model_target import ModelTarget, is_run, not_a_model, open_model
from sfumato.attacks.properties.predicate import Predicate
from sfumato.attacks.properties.shadows import (
    Ask,
    Draws,
    PublicText,
    ShadowPlan,
    answers_of_shadows,
    noisy_recipe,
)
from sfumato.attacks.properties.telling import Teller, held_out, mislabeled, summarize
from sfumato.attacks.token_scores import ScoreStore
from sfumato.core.arrays import Floats, Integers
from sfumato.core.checks import at_least, between
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion
from sfumato.results.measured import SHARE, Measured
from sfumato.results.scores import Control, Scores, time_block
from sfumato.statistics.power import tells_from
from sfumato.statistics.shares import share_of
from sfumato.text.document import Document

if TYPE_CHECKING:
    from sfumato.charts.chart import Chart

ACCURACY, TARGET = "accuracy", "target"
# Two shadows of each share from each half of the text.
FEWEST_SHADOWS = 8
# A true share that is farther from both, in parts of their distance, is neither of them.
NEAR = 0.25


@dataclass(frozen=True, eq=False, kw_only=True)
class Suspicion:
    """What the target is attacked with.

    ``truth`` is the share among the texts that it was trained on, if that is known; ``folder``
    keeps shadows, if there is one.
    """

    public: PublicText
    truth: float | None = None
    folder: Path | None = None
    store: ScoreStore = field(default_factory=ScoreStore)


@dataclass(frozen=True, kw_only=True)
class PropertyInference:
    """Tell whether few or many of the training texts have a property.

    ``property`` is "word:WORD" or "COLUMN=VALUE"; ``shares`` are what the attacker thinks possible.
    ``shadows`` models are trained, a multiple of 8, each on as many documents as the target, on
    ``documents`` if that is not 0, or on fewer if there is not enough text. ``questions`` are put
    to each.
    """

    name: ClassVar[str] = "property-inference"
    target: ClassVar[str] = "model"
    needs: ClassVar[Needs] = Needs(inputs=("others", "members"), by_group=False)

    property: str = ""
    shares: tuple[float, ...] = (0.2, 0.8)
    shadows: int = 32
    documents: int = 0
    questions: int = 64

    def __post_init__(self) -> None:
        if self.property:
            Predicate.read(self.property)
        low, high = self.shares if len(self.shares) == 2 else (1.0, 0.0)
        if not low < high:
            raise InvalidArgument("`shares` must be two, the low one first, such as (0.2, 0.8)")
        between("shares", low, 0.0, 1.0)
        between("shares", high, 0.0, 1.0)
        if at_least("shadows", self.shadows, FEWEST_SHADOWS) % FEWEST_SHADOWS:
            raise InvalidArgument(
                f"shadows={self.shadows} must be a multiple of {FEWEST_SHADOWS}: two shares, two "
                "halves of the text, and two kinds in the control"
            )
        at_least("documents", self.documents, 0)
        at_least("questions", self.questions, 2)

    def missing(self, inputs: Inputs) -> str | None:
        """What is missing of a run, a property, and text to train shadows on."""
        lacking = not_a_model(inputs.target)
        if lacking is None and not is_run(inputs.target):
            lacking = (
                f"shadows are trained as the target was, but {inputs.target} is not the folder of "
                "a run and does not say how; attack a run: `sfumato.train(TEXT, RUN, ...)`"
            )
        if lacking is None and not self.property:
            lacking = (
                "what share is to be told? `settings={'property': 'word:refund'}` for documents "
                "with a word, `settings={'property': 'country=DE'}` for a value in a column"
            )
        if lacking is None and inputs.others is None:
            lacking = (
                "`others=FILE` is missing, text of the same kind on which the attacker trains "
                "models of their own"
            )
        return lacking

    def opened(self, inputs: Inputs) -> tuple[ModelTarget, Suspicion]:
        """The model, and the attacker's text."""
        if inputs.others is None:
            raise InvalidArgument("other text is missing")
        target, predicate = open_model(inputs.target), Predicate.read(self.property)
        others = inputs.documents(inputs.others)
        truth = None
        if inputs.members is not None:
            members = inputs.documents(inputs.members)
            truth = float(predicate.holds(inputs, inputs.members, members).mean())
        public = PublicText(tuple(others), predicate.holds(inputs, inputs.others, others))
        store = ScoreStore(inputs.cache)
        return target, Suspicion(public=public, truth=truth, folder=inputs.cache, store=store)

    def score(
        self,
        target: ModelTarget,
        data: Suspicion,
        randomness: Randomness,
        done: Done | None = None,
    ) -> Scores:
        """Train shadows with both shares, and learn to tell them apart."""
        if not target.settings:
            raise BadInput("the target is no run, so nobody knows how to train models like it")
        with time_block() as watch:
            recipe, noisy = noisy_recipe(target)
            plan = ShadowPlan(
                shares=(self.shares[0], self.shares[1]),
                count=self.shadows,
                documents=self.documents or int(target.settings["plan"]["units"]),
                questions=self.questions,
            )
            ask = _asker(data, target)
            with _kept_in(data.folder) as folder:
                draws, answers = answers_of_shadows(
                    recipe, data.public, plan, folder, ask, randomness.stream(0), done
                )
            own = ask(draws.questions)(target)
            if done:
                done(plan.count + 1, plan.count + 1)
            answers = np.concatenate([answers, own[None]])
            has = data.public.has[draws.questions]
            rows, weights = summarize(answers, has, answers.shape[1] // len(has))
            scores = self._scores(rows, weights, draws, data)
            scores = replace(scores, notes=(*scores.notes, *_about(target, draws, plan, noisy)))
        return watch.stamp(scores)

    def chart(self, scores: Scores) -> Chart:
        """Every figure with its interval, beside chance and the control."""
        from sfumato.charts.figures import figures_chart

        return figures_chart(scores, title="Is the share low or high?", of="models told rightly")

    def _scores(
        self,
        rows: Floats,
        weights: Floats,
        draws: Draws,
        data: Suspicion,
    ) -> Scores:
        """The figures; the last row is that of the target."""
        shadows, high, half = rows[:-1], draws.high, draws.half
        told = held_out(shadows, high, half, weights)
        right = []
        for places, called in mislabeled(high, half):
            found = held_out(shadows[places], called, half[places], weights)
            right.append((found > 0) == called)
        teller = Teller.of(shadows, high, weights)
        verdict = float(teller.score(rows[-1:])[0])
        figures = [share_of(ACCURACY, (told > 0) == high)]
        is_high = self._is_high(data.truth)
        if is_high is not None:
            correct = float((verdict > 0) == is_high)
            figures.append(Measured(TARGET, correct, None, None, 1, SHARE))
        alike = {
            "low": float((told[~high] >= verdict).mean()),
            "high": float((told[high] <= verdict).mean()),
        }
        size = draws.chosen.shape[1]
        return Scores(
            attack=self.name,
            knowledge=(
                f"The attacker supposes that the share is {self.shares[0]:g} or "
                f"{self.shares[1]:g}, knows how the target was trained, has text of the same kind "
                f"to train {self.shadows} models with {size:,} documents each, and asks each model "
                f"{len(draws.questions)} questions."
            ),
            figures=tuple(figures),
            chance={one.metric: 0.5 for one in figures},
            control=Control(
                what="the same between models of equal share, half of which are called high",
                figures=(share_of(ACCURACY, np.concatenate(right)),),
            ),
            notes=tuple(self._notes(verdict, alike, data.truth)),
            details={
                "shares": list(self.shares),
                "verdict": "high" if verdict > 0 else "low",
                "log_odds": verdict,
                "as_extreme": alike,
                "documents": size,
                "shadows": self.shadows,
                "scores": {
                    "low": sorted(told[~high].tolist()),
                    "high": sorted(told[high].tolist()),
                },
            },
        )

    def _is_high(self, truth: float | None) -> bool | None:
        """Whether the true share is the high one; None if it is unknown, or near neither."""
        low, high = self.shares
        if truth is None:
            return None
        near = [one for one in (low, high) if abs(truth - one) <= NEAR * (high - low)]
        return near[0] == high if near else None

    def _notes(self, verdict: float, alike: dict[str, float], truth: float | None) -> list[str]:
        said = "high" if verdict > 0 else "low"
        share = self.shares[1] if verdict > 0 else self.shares[0]
        notes = [
            f"Of the target the attacker says: the share is {said}, {share:g} rather than the "
            f"other. Of the models with the low share {alike['low']:.0%} look as high or higher, "
            f"of those with the high share {alike['high']:.0%} as low or lower.",
            f"With {self.shadows} models a true accuracy of {tells_from(0.5, self.shadows):.2g} "
            "would be told from chance with a probability of 95 %.",
        ]
        if truth is not None and self._is_high(truth) is None:
            notes.append(
                f"In truth the share is {truth:.3g}, near neither of the two: the verdict on the "
                "target is neither right nor wrong."
            )
        elif truth is not None:
            notes.append(f"In truth the share is {truth:.3g}.")
        return notes


def _asker(data: Suspicion, target: ModelTarget) -> Callable[[Integers], Ask]:
    """Questions as the target can be asked them: texts, or texts with each of its classes."""
    classes = target.model.classes

    def about(questions: Integers) -> Ask:
        documents = [data.public.documents[one] for one in questions.tolist()]
        if not classes:
            return lambda model: neutral(-losses(measure_target(model, documents, data.store)))

        def odds(model: ModelTarget) -> Floats:
            # The last class is what the others leave.
            columns = [_log_odds(model, documents, one) for one in classes[:-1]]
            return np.stack(columns, axis=1).reshape(-1)

        return odds

    return about


def _log_odds(model: ModelTarget, documents: list[Document], label: str) -> Floats:
    asked = [replace(one, labels=(label,)) for one in documents]
    return neutral(statistic(losses(measure_target(model, asked, ScoreStore()))))


def _about(target: ModelTarget, draws: Draws, plan: ShadowPlan, noisy: bool) -> list[str]:
    """How the shadows differ from the target, and what its level proves."""
    size, notes = draws.chosen.shape[1], list[str]()
    claims = target.epsilon is not None and np.isfinite(target.epsilon)
    said = (target.settings or {})["plan"]
    units = int(said["units"])
    if size != units:
        less = " (there is not enough other text for more)" if size < plan.documents else ""
        notes.append(
            f"Shadows were trained on {size:,} documents each{less}, the target on {units:,}: the "
            "accuracy is that of models trained on as many as the shadows."
        )
    if claims and not noisy:
        notes.append(
            "Shadows were trained without the noise of the target's method: the figures are those "
            "of models without noise."
        )
    about_one = said.get("unit", "example") == "example"  # authors have shares of another kind
    if claims and about_one and target.notion in (Notion.PURE_DP, Notion.APPROXIMATE_DP):
        moved = max(1, round(units * (plan.shares[1] - plan.shares[0])))
        # Neighbors may be those that differ by a document that takes the place of another.
        steps = moved if said.get("neighbors") == "replacement" else 2 * moved
        notes.append(
            f"ε = {target.epsilon:.4g} is about one document. To change the share, {moved:,} of "
            f"{units:,} must be replaced, that is {steps:,} steps from neighbor to neighbor: "
            f"group privacy proves ε = {steps * (target.epsilon or 0.0):.4g} for the two "
            "shares, which is no protection. What all documents say together is what a model is "
            "trained to learn; this level does not promise to hide it."
        )
    return notes


@contextmanager
def _kept_in(folder: Path | None) -> Iterator[Path]:
    """The folder of shadows, or one that is deleted with them."""
    if folder is not None:
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="sfumato-shadows-") as made:
        yield Path(made)
