"""``sfumato.generate``: what a trained model says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.checks import extra
from sfumato.verbs.inputs import Placed, path_of

if TYPE_CHECKING:
    from sfumato.training.run import TrainingTexts


def generate(
    run: Placed,
    prompt: str = "",
    *,
    tokens: int = 50,
    temperature: float = 1.0,
    top: int | None = None,
    samples: int = 1,
    seed: int | None = None,
) -> TrainingTexts:
    """Let a finished run's model go on with a text.

    At most so many ``tokens`` are said, drawn among the ``top`` likeliest if that is given;
    ``temperature=0`` takes the likeliest. What a private model says costs no more privacy.
    """
    extra("torch", needed_for="generating text", extra="train")
    from sfumato.training.run import Run

    return Run.open(path_of(run)).generate(
        prompt, tokens=tokens, temperature=temperature, top=top, samples=samples, seed=seed
    )
