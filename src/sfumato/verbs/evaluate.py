"""``sfumato.evaluate``: how well a trained model predicts a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.checks import extra
from sfumato.verbs.inputs import Placed, path_of

if TYPE_CHECKING:
    from sfumato.policies.policy import Policy
    from sfumato.training.evaluation import Evaluation


def evaluate(
    run: Placed,
    corpus: str | Path,
    *,
    policy: str | Sequence[str] | Policy | None = None,
    exclude: Sequence[str] = (),
    settings: Mapping[str, object] | None = None,
    field: str = "text",
    label_field: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
) -> Evaluation:
    """Perplexity and top-1 accuracy of a finished run's model, with intervals over documents.

    With a ``policy`` also on the tokens that it selects, and on all others. A classifier needs
    ``label_field``, and its accuracy is measured. On private text the figures are a release of
    their own, which the model's guarantee does not cover; they are written nowhere.
    """
    extra("torch", needed_for="evaluating a model", extra="train")
    from sfumato.training.run import Run

    return Run.open(path_of(run)).evaluate(
        corpus,
        policy=policy,
        exclude=exclude,
        settings=settings,
        field=field,
        label_field=label_field,
        format=format,
        encoding=encoding,
    )
