"""What all attacks that rebuild text from a step's release have in common.

``Rebuilding`` has their settings and the way from documents to scores: documents are put into
batches, one release is computed for each batch and each amount of noise, the attack rebuilds what
it can, and all is scored against the truth and against the null. An attack is a subclass with a
``name``, a sentence about its ``knowledge``, and ``rebuild``. It may change the model first
(``prepare``), as a dishonest server does, and says before any work why it cannot succeed
(``refuse``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from sfumato.attacks.attack import Done, Inputs, Needs
from sfumato.attacks.gradients.rebuilt import Text, Texts
from sfumato.attacks.gradients.step import NOISES, OF_RUN, Step, step_of_run
from sfumato.attacks.model_target import ModelTarget, not_a_model
from sfumato.core.checks import at_least, one_of, positive
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.results.measured import Measured
from sfumato.results.scores import Control, Scores, time_block
from sfumato.text.document import Document

if TYPE_CHECKING:
    from sfumato.attacks.gradients.release import Batch, Seen

# Another text's release needs another batch.
FEWEST = 2
NULL = "what was rebuilt from one release, taken for the texts of another"


@dataclass(frozen=True, eq=False)
class Level:
    """The results at one amount of noise."""

    step: Step
    figures: list[Measured]
    null: list[Measured]


@dataclass(frozen=True, kw_only=True)
class Rebuilding:
    """Rebuild the texts of a batch from what one step releases of it.

    ``sigma`` is the noise on gradients of norm 1, several numbers for several figures; 0 is none.
    ``noise`` is gaussian (once on the sum), per-record, directional, none, or ``run``: then noise,
    clipping and batch size are those of the attacked run, with and without its noise. Gradients are
    directions, or clipped with ``clip_norm``. At most ``most`` documents of ``tokens`` tokens are
    attacked, ``batch`` of them in a step.
    """

    target: ClassVar[str] = "model"
    needs: ClassVar[Needs] = Needs(inputs=("members",))
    name: ClassVar[str]
    knowledge: ClassVar[str]

    sigma: tuple[float, ...] = (0.0,)
    noise: str = "gaussian"
    clip_norm: float | None = None
    batch: int | None = None
    most: int = 16
    tokens: int = 32

    def __post_init__(self) -> None:
        one_of("noise", self.noise, (*NOISES, OF_RUN))
        if not self.sigma:
            raise InvalidArgument("sigma is empty; say how much noise there is, 0 for none")
        if self.noise in ("none", OF_RUN) and self.sigma != type(self).sigma:
            raise InvalidArgument(f"noise={self.noise!r} leaves nothing for sigma to say")
        if self.clip_norm is not None:
            positive("clip_norm", self.clip_norm)
            if self.noise == OF_RUN:
                raise InvalidArgument("a run has a clip_norm of its own; leave it out")
        if self.batch is not None:
            at_least("batch", self.batch, 1)
        at_least("most", self.most, FEWEST)
        at_least("tokens", self.tokens, 2)
        if self.noise != OF_RUN:
            self.steps(None)

    def missing(self, inputs: Inputs) -> str | None:
        """What is missing of a model and of the documents whose gradients are seen."""
        lacking = not_a_model(inputs.target)
        if lacking is None and inputs.members is None:
            lacking = "`members=FILE` is missing, the texts whose gradients are seen"
        return lacking

    def opened(self, inputs: Inputs) -> tuple[ModelTarget, tuple[Document, ...]]:
        """The model and the documents."""
        from sfumato.attacks.gradients.opening import open_members

        return open_members(inputs)

    def steps(self, target: ModelTarget | None) -> list[Step]:
        """The steps that are seen: one for each amount of noise."""
        if self.noise == OF_RUN:
            own = step_of_run(None if target is None else target.settings)
            own = own if self.batch is None else replace(own, batch=self.batch)
            return [own, own.silent()] if own.sigma else [own]
        bound = "direction" if self.clip_norm is None else "clipped"
        first = Step(noise=self.noise, bound=bound, clip_norm=self.clip_norm or 1.0)
        first = replace(first, batch=self.batch or 1)
        levels = (0.0,) if self.noise == "none" else self.sigma
        return [replace(first, sigma=one) for one in levels]

    def refuse(self, target: ModelTarget) -> None:
        """Raise an error that says why the attack cannot succeed on this model, if it cannot."""

    def prepare(self, target: ModelTarget, randomness: Randomness) -> ModelTarget:  # noqa: ARG002
        """The model as the attacker hands it out; an honest one changes nothing."""
        return target

    def remarks(self, batches: Sequence[Batch]) -> tuple[str, ...]:  # noqa: ARG002
        """What a reader must know of figures on these batches."""
        return ()

    def rebuild(self, seen: Seen, randomness: Randomness) -> list[Text]:
        """The texts of the batch, in any order, without special tokens."""
        raise NotImplementedError

    def score(
        self,
        target: ModelTarget,
        data: Sequence[Document],
        randomness: Randomness,
        done: Done | None = None,
    ) -> Scores:
        """Rebuild batch after batch, at every amount of noise."""
        with time_block() as watch:
            self.refuse(target)
            target = self.prepare(target, randomness.stream(0))
            steps = self.steps(target)
            batches, notes = self._batches(target, data, steps[0].batch, randomness.stream(1))
            steps = [replace(step, batch=len(batches[0])) for step in steps]
            work = _Work(self, batches, done, len(steps) * len(batches))
            levels = [
                work.at(step, randomness.stream(2 + place)) for place, step in enumerate(steps)
            ]
            notes = (*notes, *self.remarks(batches))
            scores = self._scores(levels, self.chance(batches), batches, notes)
        return watch.stamp(scores)

    def compare(
        self, batches: Sequence[Batch], guesses: Sequence[Sequence[Text]], step: Step
    ) -> Level:
        """Figures of what was rebuilt of all batches, and of the null."""
        texts = _texts(batches)
        return Level(step, texts.figures(guesses, step.said), texts.null(guesses, step.said))

    def chance(self, batches: Sequence[Batch]) -> dict[str, float]:
        """What each figure is for somebody who saw another batch."""
        return _texts(batches).chance()

    def _batches(
        self, target: ModelTarget, data: Sequence[Document], size: int, randomness: Randomness
    ) -> tuple[list[Batch], tuple[str, ...]]:
        from sfumato.attacks.gradients.release import Batch, choose_documents

        model = target.model
        chosen = choose_documents(data, self.most, randomness, labeled=bool(model.classes))
        notes: tuple[str, ...] = ()
        if self.noise == OF_RUN and self.batch is None and size * FEWEST > len(chosen):
            fewer = max(1, len(chosen) // FEWEST)
            notes = (
                f"The run sums {size} records in a step; {fewer} were summed here, which is "
                "easier to take apart.",
            )
            size = fewer
        count = len(chosen) // size
        if count < FEWEST:
            raise BadInput(
                f"there are {len(chosen)} different documents; {FEWEST * size} are needed for "
                f"{FEWEST} steps of {size}, of which one is the control"
            )
        made = [
            Batch.of(model, chosen[place * size : (place + 1) * size], self.tokens)
            for place in range(count)
        ]
        return made, notes

    def _scores(
        self,
        levels: Sequence[Level],
        chance: dict[str, float],
        batches: Sequence[Batch],
        notes: tuple[str, ...],
    ) -> Scores:
        return Scores(
            attack=self.name,
            knowledge=self.knowledge,
            figures=tuple(one for level in levels for one in level.figures),
            chance={
                one.metric: chance[one.metric.removesuffix(f" {level.step.said}")]
                for level in levels
                for one in level.figures
            },
            control=Control(
                what=NULL, figures=tuple(one for level in levels for one in level.null)
            ),
            notes=notes,
            details={
                "steps": [
                    {"noise": one.step.noise, "sigma": one.step.sigma, "bound": one.step.bound}
                    for one in levels
                ],
                "batch": len(batches[0]),
                "documents": sum(len(one) for one in batches),
            },
        )


@dataclass(eq=False)
class _Work:
    """Rebuilds all batches, and says how far it is."""

    attack: Rebuilding
    batches: list[Batch]
    done: Done | None
    total: int
    finished: int = field(default=0)

    def at(self, step: Step, randomness: Randomness) -> Level:
        """All batches at one amount of noise."""
        from sfumato.attacks.gradients.release import release

        guesses = []
        for place, batch in enumerate(self.batches):
            own = randomness.stream(place)
            seen = release(batch, step, own.stream(0))
            guesses.append(self.attack.rebuild(seen, own.stream(1)))
            self.finished += 1
            if self.done:
                self.done(self.finished, self.total)
        return self.attack.compare(self.batches, guesses, step)


def _texts(batches: Sequence[Batch]) -> Texts:
    return Texts(tuple(tuple(one.texts()) for one in batches), batches[0].model.tokenizer)
