"""``sfumato.evaluate`` and ``sfumato.generate``: what a trained model predicts and writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.checks import extra
from sfumato.verbs.inputs import Placed, path_of

if TYPE_CHECKING:
    from sfumato.policies.policy import Policy
    from sfumato.training.evaluation import Evaluation
    from sfumato.training.run import TrainingTexts


def evaluate(
    run: Placed,
    corpus: str | Path,
    *,
    policy: str | Sequence[str] | Policy | None = None,
    exclude: Sequence[str] = (),
    settings: Mapping[str, object] | None = None,
    field: str | None = None,
    author_field: str | None = None,
    label_field: str | None = None,
    group_field: str | None = None,
    span_field: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    header: bool = True,
) -> Evaluation:
    """Perplexity and top-1 accuracy of a finished run's model, with intervals over documents.

    With a ``policy`` also on the tokens that it selects, and on all others. A classifier needs
    ``label_field``; accuracy, Matthews correlation and F1 are measured, also for every group of
    documents with the same ``group_field``. Of a tagger precision, recall and F1 of the spans in
    ``span_field`` are measured. With ``author_field`` documents of an author count as
    one in the intervals; without a ``header`` columns are called 1, 2, … On private text the
    figures are a release of their own, which the model's guarantee does not cover; they are written
    nowhere. ``field`` is "text", or that of a corpus that was privatized.
    """
    extra("torch", needed_for="evaluating a model", extra="train")
    from sfumato.releases.recorded import one_field
    from sfumato.training.run import Run

    return Run.open(path_of(run)).evaluate(
        corpus,
        policy=policy,
        exclude=exclude,
        settings=settings,
        field=one_field(Path(corpus), field),
        author_field=author_field,
        label_field=label_field,
        group_field=group_field,
        span_field=span_field,
        format=format,
        encoding=encoding,
        header=header,
    )


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
