"""How well a model predicts text it has not seen: all of it, what a policy finds, each group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.metrics.prediction import Measured, Predicted, accuracy, perplexity
from sfumato.metrics.rows import HIGHER, LOWER, Row
from sfumato.studies.computing.context import Context, Found, Meaning, rows
from sfumato.studies.computing.corpus import texts
from sfumato.studies.computing.grouping import groups_of
from sfumato.studies.measures import checked_measure
from sfumato.studies.policies import measured_by

Measure = Callable[[Sequence[Predicted], Randomness], Measured]
BETTER: dict[Measure, str] = {perplexity: LOWER, accuracy: HIGHER}
FEWEST_IN_GROUP = 3


def compute(context: Context) -> Found:
    """Perplexity and top-1 accuracy on the test text."""
    from sfumato.models.loading import load_model
    from sfumato.training.evaluation import predicted, selected_tokens

    settings = checked_measure("perplexity", context.cell.settings["settings"])
    there = texts(context)
    if there.test is None:
        raise BadInput("perplexity is measured on [test], which the study does not have")
    documents = there.documents(there.test)
    path = context.target_path
    folder = path / "model" if (path / "model").is_dir() else path
    model = load_model(str(folder), randomness=context.randomness, kind="causal")
    scores = predicted(model, documents)
    found = _measured(scores, context.randomness)
    policy = measured_by(context.study, settings)
    if policy is not None:
        flags = selected_tokens(model, documents, policy)
        pairs = list(zip(scores, flags, strict=True))
        chosen = [one.only(mask) for one, mask in pairs]
        others = [one.only(~mask) for one, mask in pairs]
        found += _measured(chosen, context.randomness, ", private tokens")
        found += _measured(others, context.randomness, ", other tokens")
    field = context.cell.settings.get("groups")
    if field:
        for group, places in groups_of(documents).items():
            if len(places) >= FEWEST_IN_GROUP:
                own = [scores[place] for place in places]
                found += _measured(own, context.randomness, group=(field, group))
    return Found(rows=tuple(found))


def _measured(
    scores: Sequence[Predicted],
    randomness: Randomness,
    suffix: str = "",
    group: tuple[str, str] | None = None,
) -> list[Row]:
    if not any(len(one.losses) for one in scores):
        return []
    found = []
    for measure, better in BETTER.items():
        figure = measure(scores, randomness)
        named = replace(figure, metric=figure.metric + suffix)
        found += rows([named], Meaning(by="perplexity", better=better), group)
    return found
