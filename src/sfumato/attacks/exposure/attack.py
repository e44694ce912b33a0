"""Exposure of planted canaries: does the model rank them above other possible secrets?

A canary is a sentence with a made-up secret in it. Its exposure is the number of bits that the
model saves an attacker who guesses: 0 if the secret ranks last among all possible ones, log2 of
their number if it ranks first. Canaries planted with different numbers of repetitions show how many
it takes for a model to memorize them.

What is measured
    By ``method``: ``exact`` ranks the canary among all secrets of the space, up to 10^6 of them;
    ``sampled`` ranks it among ``samples`` drawn ones, and cannot show more than log2(samples + 1)
    bits; ``extrapolated`` uses a fitted distribution beyond that. ``auto`` is exact where that is
    possible, and otherwise uses both others.

Null control
    Fresh secrets from the same space that were never planted, scored on the same model together
    with the candidates. Under any model they reach x bits with probability at most 2^(−x).

Care
    The text ``before`` is put before the canary and before every candidate. Canaries are planted
    between sentences, so by default it is the end of one: many tokenizers encode a word differently
    at the start of a document. What chance gives is known only for secrets drawn uniformly; one
    that a person made up ("123456") has a high exposure even on models that never saw it.

Reference
    Carlini et al. 2019, "The secret sharer: evaluating and testing unintended memorization in
    neural networks".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sfumato.attacks.attack import Attempt, Done, Inputs, Needs
from sfumato.attacks.exposure import figures, ranks
from sfumato.attacks.exposure.candidates import Frame, SecretSpace
from sfumato.attacks.exposure.ranks import (
    DOUBTFUL,
    Question,
    SecretSample,
    SpaceFindings,
    by_count,
    by_enumeration,
    by_law,
    by_sampling,
)
from sfumato.attacks.model_target import ModelTarget, not_a_model, open_model
from sfumato.core.checks import at_least, between, one_of
from sfumato.core.errors import InvalidArgument, MissingExtra, MissingInput, SfumatoError
from sfumato.core.randomness import Randomness
from sfumato.corpora.canaries import PlantedCanary, read_manifest
from sfumato.results.scores import Control, Scores, time_block

if TYPE_CHECKING:
    from sfumato.charts.chapter import Chapter
    from sfumato.charts.chart import Chart

METHODS = ("auto", "exact", "sampled", "extrapolated")
MOST_EXACT = 10**6
# More would not fit into memory.
MOST_DRAWN = 10**7


def remarks(batches: Sequence[SpaceFindings], samples: int) -> list[str]:
    """Notes on what the methods that were used can show."""
    found = [one for batch in batches for one in batch.found]
    bits = ", ".join(f"{one:.2f}" for one in sorted({one.space.bits for one in found}))
    said = [f"The largest exposure possible is {bits} bits, by the number of possible secrets."]
    if any(batch.method == "sampled" for batch in batches):
        said.append(
            f"A sample of {samples:,} candidates cannot show more than "
            f"{math.log2(samples + 1):.2f} bits."
        )
    said += _about_the_law(batches)
    if any(figure.low is None for figure in figures.means(found)):
        said.append("A mean over one canary has no interval.")
    if not any(one.planted.repetitions for one in found):
        said.append("No canary was planted: all of them are controls.")
    return said


def _about_the_law(batches: Sequence[SpaceFindings]) -> Iterator[str]:
    fits = [batch.fit for batch in batches if batch.fit is not None]
    if fits and min(fits) < DOUBTFUL:
        yield (
            "The scores do not follow the fitted skew-normal distribution "
            f"(p = {min(fits):.2g}): do not rely on the extrapolated figures."
        )
    elif fits:
        yield f"The scores look skew-normal where the sample shows them (p = {min(fits):.2g})."
    beyond = sum(one.beyond for batch in batches for one in batch.found)
    if beyond:
        yield (
            f"Extrapolated exposures beyond the reach of the sample: {beyond}. They depend on the "
            "tail of the fitted distribution alone."
        )


HOW = (
    "`sfumato.plant_canaries(CORPUS, PLANTED, ...)`, `sfumato.train(PLANTED, RUN, ...)`, "
    "`sfumato.attack('exposure', RUN, canaries='PLANTED.canaries.json')`"
)
KNOWLEDGE = (
    "The attacker knows the sentence around the secret and what kind of secret it is, and may ask "
    "the model for the probability of any text; they know neither the secret nor the documents."
)


@dataclass(frozen=True, kw_only=True)
class Exposure:
    """Rank planted secrets among all that could have been planted.

    ``samples`` is the number of candidates to draw where not all are ranked; ``controls`` is the
    number of secrets that were never planted. ``pattern`` describes possible secrets other than
    numbers, such as ``##-@@@@``: # is any digit, @ any small letter from a to z.
    """

    name: ClassVar[str] = "exposure"
    target: ClassVar[str] = "model"
    needs: ClassVar[Needs] = Needs(
        inputs=("canaries",), by_group=False, about_the_data=(figures.LARGEST_BY_CHANCE,)
    )

    method: str = "auto"
    samples: int = 10_000
    controls: int = 2_000
    before: str = ". "
    pattern: str = ""

    def __post_init__(self) -> None:
        one_of("method", self.method, METHODS)
        at_least("samples", self.samples, ranks.FEWEST)
        at_least("controls", self.controls, 2)
        for name in ("samples", "controls"):
            between(name, getattr(self, name), 2, MOST_DRAWN)
        if self.pattern:
            SecretSpace(self.pattern)

    def missing(self, inputs: Inputs) -> str | None:
        """Why the attack cannot run on these inputs, and what would help; None if it can."""
        lacking = not_a_model(inputs.target)
        if lacking is not None:
            return f"{lacking}. From the start: {HOW}"
        if inputs.canaries is None:
            return f"no canaries are given: plant some before training. {HOW}"
        if not inputs.canaries.is_file():
            return f"there is no manifest {inputs.canaries}. {HOW}"
        try:
            self._questions(read_manifest(inputs.canaries))
        except SfumatoError as error:
            return str(error)
        return None

    def opened(self, inputs: Inputs) -> tuple[ModelTarget, tuple[PlantedCanary, ...]]:
        """The model, and the canaries of the manifest."""
        if inputs.canaries is None:
            raise MissingInput(f"{self.name}: {self.missing(inputs)}")
        target = open_model(inputs.target)
        if target.model.classes:
            raise MissingInput(
                f"{self.name}: {inputs.target} is a classifier, which gives no probability to a "
                "text; train a language model on the corpus"
            )
        return target, read_manifest(inputs.canaries)

    def score(
        self,
        target: ModelTarget,
        data: Sequence[PlantedCanary],
        randomness: Randomness,
        done: Done | None = None,
    ) -> Scores:
        """Rank every canary and the controls."""
        with time_block() as watch:
            questions = self._questions(data)
            controls = -(-self.controls // len(questions))
            advance = _Progress(
                done, sum(self._candidates(one, controls) for one in questions)
            ).advance
            batches: list[SpaceFindings] = []
            notes: list[str] = []
            for place, question in enumerate(questions):
                stream = randomness.stream(place)
                fresh = question.space.drawn(controls, stream.stream(0))
                if self._exact(question.space):
                    batches.append(by_enumeration(target.model, question, fresh, advance))
                else:
                    drawn = question.space.drawn(self.samples, stream.stream(1))
                    sample = by_sampling(target.model, question, fresh, drawn, advance)
                    if self.method != "extrapolated":
                        batches.append(by_count(question, sample))
                    if self.method != "sampled":
                        batches += self._extrapolated(question, sample, notes)
            scores = self._scores(batches, notes)
        return watch.stamp(scores)

    def chart(self, scores: Scores) -> Chart:
        """Exposure against repetitions, and what chance gives."""
        from sfumato.charts.exposure import exposure_chart

        return exposure_chart(scores.details)

    @classmethod
    def chapter(cls, attempts: Sequence[Attempt]) -> Chapter | None:
        """Means by repetitions for all methods, one attempt in full, and the secrets."""
        return figures.chapter(attempts)

    def _questions(self, data: Sequence[PlantedCanary]) -> list[Question]:
        collected: dict[tuple[Frame, SecretSpace], list[PlantedCanary]] = {}
        for one in data:
            space = SecretSpace.of(one.canary, self.pattern)
            if self.method == "exact" and space.size > MOST_EXACT:
                raise InvalidArgument(
                    f"method=exact ranks up to {MOST_EXACT:,} secrets, but {space.size:,} are "
                    "possible here; take method=auto, sampled or extrapolated"
                )
            key = Frame(self.before, one.canary.template), space
            collected.setdefault(key, []).append(one)
        if not collected:
            raise MissingInput(f"{self.name}: no canary is given. {HOW}")
        return [Question(*key, tuple(some)) for key, some in collected.items()]

    def _exact(self, space: SecretSpace) -> bool:
        return self.method == "exact" or (self.method == "auto" and space.size <= MOST_EXACT)

    def _candidates(self, question: Question, controls: int) -> int:
        if self._exact(question.space):
            return question.space.size
        corners = len(question.space.corners())
        return self.samples + len(question.canaries) + controls + corners

    def _extrapolated(
        self, question: Question, sample: SecretSample, notes: list[str]
    ) -> list[SpaceFindings]:
        try:
            return [by_law(question, sample)]
        except (ranks.NoLaw, MissingExtra) as error:
            if self.method == "extrapolated":
                raise
            notes.append(f"Nothing is extrapolated for {question.frame.template!r}: {error}.")
            return []

    def _scores(self, batches: Sequence[SpaceFindings], notes: Sequence[str]) -> Scores:
        found = [one for batch in batches for one in batch.found]
        return Scores(
            attack=self.name,
            knowledge=KNOWLEDGE,
            figures=(*figures.means(found), *figures.largest(found)),
            chance=figures.chances(batches),
            control=Control(
                what="secrets drawn from the same space and never planted, on the same model",
                figures=tuple(figures.controls(batches)),
            ),
            notes=(*notes, *remarks(batches, self.samples)),
            details=figures.details(batches),
        )


class _Progress:
    """Counts the candidates done so far, over all spaces."""

    def __init__(self, done: Done | None, total: int) -> None:
        self._done, self._total, self._so_far = done, total, 0

    def advance(self, more: int) -> None:
        self._so_far += more
        if self._done:
            self._done(self._so_far, self._total)
