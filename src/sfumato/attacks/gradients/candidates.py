"""Which of some candidate texts a noisy gradient was computed from: the best attack there is.

The attacker sees what one step releases of one record, all other records being known to them and
subtracted, and has a list of candidates among which the record is. They choose the candidate whose
gradient makes the release likeliest. No rule guesses right more often, so this is the attack by
which methods of noisy training should be compared.

How
    A release is θ_j + noise for the gradient θ_j of record j: scaled to a norm of at most 1
    (clipped, as by DP-SGD) or of exactly 1 (a direction). Its likelihood depends on the products
    ⟨release, θ_i⟩ alone, and these on the inner products of the candidates' gradients. So releases
    are simulated exactly from that small matrix: the products have the mean K_ji and, for Gaussian
    noise of standard deviation σ, the covariance σ²K. A von Mises–Fisher draw is simulated in
    coordinates of the span of the gradients (``training.clipping.vmf``).

Who sees what
    With ``noise="run"`` the step is that of a run, with its clipping and its noise. Noise that is
    added once to a sum hides a record by σ, whatever the batch, from somebody who knows all others.
    Where every record has noise of its own, it matters who looks: somebody who sees each record's
    draw (``observer="draw"``, no server is trusted) faces σ, and somebody who sees the sum of a
    step only (``observer="sum"``, a trusted server adds up) faces σ·√(batch size). Methods are to
    be compared under one of the two; ``observer="both"`` gives a figure for each.

Proven and expected
    A guess among M candidates is right with probability at most Φ(Φ⁻¹(1/M) + 1/σ), since leaving
    the record out moves the release by at most 1 (``accounting.reconstruction``). That is for
    Gaussian noise. For a directional draw it is what a cap of the sphere holds that has the Mth
    part of it (``accounting.directional.most_guessed``), a little more in few dimensions; and a sum
    of draws tells no more than all of them, so the same is proven for it. If all gradients
    had the mean cosine c̄ with each other, it would be right with probability
    ∫ φ(x − √(1−c̄)/σ)·Φ(x)^{M−1} dx.

Care
    Simulated noise is for the attack alone; nothing here is released. Texts that are almost equal
    have almost the same gradient, and a wrong guess between them counts as wrong. The sum of many
    directional draws is simulated by the Gaussian noise that matches them, which is the same up to
    a total variation that ``accounting.directional`` states. The attacker knows that the record is
    in the batch. Where training samples batches at random, that is more than training releases, so
    guesses may be right more often than is proven for a whole run: they are to be compared with
    what is proven for the step.

Reference
    Hayes, Mahloujifar and Balle 2023, "Bounding training data reconstruction in DP-SGD" (the
    attack with a prior over candidates).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sfumato.accounting.directional import match_kappa, most_guessed
from sfumato.attacks.attack import Done, Inputs, Needs
from sfumato.attacks.gradients.opening import open_members
from sfumato.attacks.gradients.step import OF_RUN, Step, step_of_run
from sfumato.attacks.model_target import ModelTarget, not_a_model
from sfumato.core.arrays import Floats
from sfumato.core.checks import at_least, one_of, positive
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.results.measured import Measured
from sfumato.results.scores import Control, Scores, time_block
from sfumato.statistics.shares import mean_share
from sfumato.text.document import Document

NOISES = ("gaussian", "directional", OF_RUN)
DRAW, SUM, BOTH = "draw", "sum", "both"
OBSERVERS = (DRAW, SUM, BOTH)
FEWEST = 4
# Of a run without noise; a sigma of zero would divide by zero.
LEAST_SIGMA = 1e-6
RIGHT = "right guesses"
# The figure of somebody who sees sums only, where both observers are asked for.
FROM_SUM = f"{RIGHT} from sums"


@dataclass(frozen=True, eq=False)
class Gradients:
    """The inner products of candidates' gradients, and the number of trainable weights."""

    gram: Floats
    dimension: int

    def scaled(self, clip_norm: float | None) -> Floats:
        """The inner products of directions, or of gradients clipped to 1 in units of the norm."""
        norms = np.sqrt(np.diag(self.gram))
        longest = norms if clip_norm is None else np.maximum(norms, clip_norm)
        found: Floats = self.gram / np.outer(longest, longest)
        return found


def gradients_of(target: ModelTarget, documents: Sequence[Document], tokens: int) -> Gradients:
    """The gradient of each document's loss, all recorded in one batch."""
    import torch

    from sfumato.attacks.gradients.release import make_records
    from sfumato.training.batches import physical_batches
    from sfumato.training.clipping.recording import Recording
    from sfumato.training.features import HeadFeatures
    from sfumato.training.keeping import KEEPING
    from sfumato.training.row_losses import row_losses

    model = target.model
    records = make_records(model, documents, tokens)
    everyone = np.arange(len(records))
    (group,) = physical_batches(records, everyone, most_tokens=len(records) * records.context)
    (rows,) = group
    # Models of a study that trained a head alone share what their frozen layers say.
    kept = HeadFeatures.of(model, records) if KEEPING.get() else None
    network: Any = model.network if kept is None else kept.head
    inputs = rows.inputs() if kept is None else kept.inputs(rows, torch.arange(len(rows.owner)))
    recording = Recording(network.eval())
    recording.compared = True  # training has compared rows, and nothing is promised here
    try:
        losses = row_losses(network, inputs, rows.labels, rows.weights)
        batch = recording.backward(losses, rows.owner)
        gram = recording.gram(batch).numpy()
        dimension = sum(slot.parameter.numel() for slot in recording.slots.values())
    finally:
        recording.close()
    if not np.isfinite(gram).all() or (np.diag(gram) <= 0).any():
        raise BadInput("a document has no gradient, or one that is not finite; leave it out")
    return Gradients(gram, dimension)


@dataclass(frozen=True, kw_only=True)
class GradientCandidates:
    """Guess which document a noisy gradient belongs to.

    ``sigma`` is the noise on a gradient of norm 1, several numbers for several figures; ``noise``
    is gaussian, or directional with the concentration that matches it. Gradients are directions, or
    clipped with ``clip_norm``. With ``noise="run"`` all of that is taken from the target, which is
    a run, and the ``observer`` sees each record's draw, or the sum of a step (or one of each:
    both). At most ``most``
    documents of ``tokens`` tokens are candidates, and ``releases`` are simulated for each. The
    candidates of a classifier come with their labels.
    """

    name: ClassVar[str] = "gradient-candidates"
    target: ClassVar[str] = "model"
    needs: ClassVar[Needs] = Needs(inputs=("members",))

    sigma: tuple[float, ...] = (0.1, 0.3, 1.0)
    noise: str = "gaussian"
    clip_norm: float | None = None
    observer: str = "draw"
    most: int = 64
    tokens: int = 32
    releases: int = 200

    def __post_init__(self) -> None:
        one_of("noise", self.noise, NOISES)
        one_of("observer", self.observer, OBSERVERS)
        if self.observer != DRAW and self.noise != OF_RUN:
            raise InvalidArgument("the sum of a step is that of a run; take noise='run' with it")
        for sigma in self.sigma or (0.0,):
            positive("sigma", sigma)
        if self.clip_norm is not None:
            positive("clip_norm", self.clip_norm)
            if self.noise == OF_RUN:
                raise InvalidArgument("noise='run' clips as the run does; leave clip_norm out")
            if self.noise == "directional":
                raise InvalidArgument("directional noise has directions only; leave clip_norm out")
        at_least("most", self.most, FEWEST)
        at_least("tokens", self.tokens, 2)
        at_least("releases", self.releases, 1)

    def missing(self, inputs: Inputs) -> str | None:
        """What is missing of a model and of the documents that may be candidates."""
        lacking = not_a_model(inputs.target)
        if lacking is None and inputs.members is None:
            lacking = "`members=FILE` is missing, the texts that are candidates"
        return lacking

    def opened(self, inputs: Inputs) -> tuple[ModelTarget, tuple[Document, ...]]:
        """The model and the documents."""
        return open_members(inputs)

    def score(
        self,
        target: ModelTarget,
        data: Sequence[Document],
        randomness: Randomness,
        done: Done | None = None,
    ) -> Scores:
        """How often the right document is chosen, for every amount of noise."""
        with time_block() as watch:
            chosen = self._choose(data, target, randomness.stream(0))
            step = step_of_run(target.settings) if self.noise == OF_RUN else None
            own = self if step is None else self._of_run(step)
            found = gradients_of(target, chosen, self.tokens)
            scores = own._scores(found, randomness.stream(1), done, step)
            if step is not None:
                scores = self._about_run(scores)
            if step is not None and self.observer == BOTH:
                summed = replace(self, observer=SUM)
                others = summed._of_run(step)._scores(found, randomness.stream(2), None, step)
                scores = _joined(scores, summed._about_run(others, FROM_SUM))
        return watch.stamp(scores)

    def _choose(
        self, data: Sequence[Document], target: ModelTarget, randomness: Randomness
    ) -> list[Document]:
        from sfumato.attacks.gradients.release import choose_documents

        labeled = bool(target.model.classes)
        chosen = choose_documents(data, self.most, randomness, labeled=labeled)
        if len(chosen) < FEWEST:
            raise BadInput(f"there are {len(chosen)} different documents; {FEWEST} are needed")
        return chosen

    def _of_run(self, step: Step) -> GradientCandidates:
        """The same attack on what a step of the run shows the observer."""
        summed = self.observer == SUM and step.batch > 1
        sigma = step.deviation if summed else step.sigma
        turned = step.noise == "directional" and not summed
        return replace(
            self,
            noise="directional" if turned else "gaussian",
            sigma=(max(sigma, LEAST_SIGMA),),
            clip_norm=step.clip_norm if step.bound == "clipped" else None,
            observer=DRAW,
        )

    def _about_run(self, scores: Scores, metric: str = RIGHT) -> Scores:
        """Under one name whatever the noise, so that runs can be compared."""
        who = {
            DRAW: "sees what one step adds up of one record, or knows all others of its batch",
            SUM: "sees the sum of one step and knows all other records of its batch",
            BOTH: "sees what one step adds up of one record (or, for the figure from sums, the sum "
            "of one step and knows all other records of its batch)",
        }[self.observer]

        def named(figures: Sequence[Measured]) -> tuple[Measured, ...]:
            return tuple(replace(one, metric=metric) for one in figures)

        return replace(
            scores,
            knowledge=(
                f"{scores.knowledge} The noise is that of the run, and the attacker {who}, and "
                "knows that the record is in it, which random batches would hide."
            ),
            figures=named(scores.figures),
            chance=dict.fromkeys([metric], next(iter(scores.chance.values()))),
            control=replace(scores.control, figures=named(scores.control.figures)),
        )

    def _scores(
        self, found: Gradients, randomness: Randomness, done: Done | None, step: Step | None
    ) -> Scores:
        scaled = found.scaled(self.clip_norm)
        count = len(scaled)
        figures: list[Measured] = []
        null: list[Measured] = []
        beside = []
        for place, sigma in enumerate(self.sigma):
            products = simulate(scaled, found.dimension, self, sigma, randomness.stream(place))
            # By the likelihood; for directions all lengths are the same.
            guesses = (products - np.diag(scaled) / 2).argmax(axis=2)
            right = (guesses == np.arange(count)[:, None]).mean(axis=1)
            metric = f"{RIGHT} at σ = {sigma:g}"
            figures.append(mean_share(metric, right))
            # The release of one text, and somebody who takes it for that of the next one.
            shifted = (guesses == np.roll(np.arange(count), -1)[:, None]).mean(axis=1)
            null.append(mean_share(metric, shifted))
            beside.append(
                {
                    "sigma": sigma,
                    "proven_at_most": self._proven(count, sigma, found.dimension, step),
                    "expected": expected(scaled, sigma),
                }
                | self._kappa(sigma, found.dimension)
            )
            if done:
                done(place + 1, len(self.sigma))
        return Scores(
            attack=self.name,
            knowledge=(
                "The attacker holds the model, sees one record's noisy gradient, and knows "
                f"{count} texts of which one is the record."
            ),
            figures=tuple(figures),
            chance={one.metric: 1 / count for one in figures},
            control=Control(what="guesses that name the next text instead", figures=tuple(null)),
            notes=tuple(
                f"At σ = {one['sigma']:g} at most {math.ceil(1e3 * one['proven_at_most']) / 1e3:g} "
                f"is proven; {one['expected']:.3g} would be expected if all texts were equally "
                "different."
                for one in beside
            ),
            details={"candidates": count, "dimension": found.dimension, "levels": beside},
        )

    def _proven(self, count: int, sigma: float, dimension: int, step: Step | None) -> float:
        """The largest probability of a right guess that this noise allows."""
        if step is not None and step.noise == "directional":
            sigma = step.sigma  # of a draw: a sum of them tells no more
        elif self.noise != "directional":
            return proven(count, sigma)
        return most_guessed(1 / count, match_kappa(sigma, dimension), dimension)

    def _kappa(self, sigma: float, dimension: int) -> dict[str, float]:
        """The concentration, which means nothing without the number of dimensions beside it."""
        return {"kappa": match_kappa(sigma, dimension)} if self.noise == "directional" else {}


def _joined(first: Scores, second: Scores) -> Scores:
    """The figures of two observers of the same steps."""
    figures = (*first.control.figures, *second.control.figures)
    levels = {"levels": first.details["levels"], "levels_of_sums": second.details["levels"]}
    return replace(
        first,
        figures=(*first.figures, *second.figures),
        chance={**first.chance, **second.chance},
        control=replace(first.control, figures=figures),
        notes=tuple(dict.fromkeys((*first.notes, *second.notes))),
        details={**first.details, **levels},
    )


def simulate(
    gram: Floats,
    dimension: int,
    settings: GradientCandidates,
    sigma: float,
    randomness: Randomness,
) -> Floats:
    """⟨release, θ_i⟩ for releases of every candidate: (candidates, releases, candidates).

    A directional release is divided by its mean length along its direction.
    """
    values, vectors = np.linalg.eigh(gram)
    kept = values > values.max() * 1e-12
    # Row i is θ_i in an orthonormal basis of the span.
    coordinates = vectors[:, kept] * np.sqrt(values[kept])
    count, rank = coordinates.shape
    shape = (count, settings.releases, rank)
    drawn = randomness.stream(0).normal(count * settings.releases, rank).reshape(shape)
    if settings.noise == "gaussian":
        noisy = coordinates[:, None, :] + sigma * drawn
    else:
        noisy = _turned(coordinates, drawn, match_kappa(sigma, dimension), dimension, randomness)
    found: Floats = noisy @ coordinates.T
    return found


def _turned(
    coordinates: Floats, drawn: Floats, kappa: float, dimension: int, randomness: Randomness
) -> Floats:
    """Von Mises–Fisher draws around each row, as far as they lie in the span."""
    from sfumato.training.clipping.vmf import draw_cosines, mean_cosine

    count, releases, rank = drawn.shape
    if rank >= dimension:
        raise BadInput("there are as many candidates as weights; take fewer with `most`")
    cosines = draw_cosines(dimension, np.full(count * releases, kappa), randomness.stream(1))
    cosines = cosines.reshape(count, releases, 1)
    direction = coordinates[:, None, :]
    across = drawn - (drawn * direction).sum(2, keepdims=True) * direction
    left = 2 * randomness.stream(2).gamma((dimension - rank) / 2, 1.0, count * releases)
    lengths = np.sqrt((across**2).sum(2) + left.reshape(count, releases))[:, :, None]
    turned: Floats = cosines * direction + np.sqrt(1 - cosines**2) * across / lengths
    return turned / mean_cosine(dimension, kappa)


def proven(candidates: int, sigma: float) -> float:
    """The largest probability of a right guess that Gaussian noise allows."""
    from statistics import NormalDist

    normal = NormalDist()
    return normal.cdf(normal.inv_cdf(1 / candidates) + 1 / sigma)


def expected(gram: Floats, sigma: float) -> float:
    """The probability of a right guess if all gradients had their mean cosine with each other."""
    count = len(gram)
    apart = (np.trace(gram) - (gram.sum() - np.trace(gram)) / (count - 1)) / count
    shift = math.sqrt(max(0.0, float(apart))) / sigma
    grid = np.linspace(-9.0, 9.0 + shift, 4001)
    density = np.exp(-((grid - shift) ** 2) / 2) / math.sqrt(2 * math.pi)
    below = np.array([0.5 * math.erfc(-one / math.sqrt(2)) for one in grid.tolist()])
    return float(np.trapezoid(density * below ** (count - 1), grid))
