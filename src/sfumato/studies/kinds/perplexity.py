"""How well a model predicts text it has not seen: all of it, what a policy finds, each group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.results.measured import Measured, Predicted, accuracy, perplexity
from sfumato.results.row import HIGHER, LOWER, Row
from sfumato.studies.kinds.context import CellResult, Context, Meaning, rows
from sfumato.studies.kinds.corpus import groups_of, texts
from sfumato.studies.measures import check_measure
from sfumato.studies.resolve import measured_by

MeasurePredicted = Callable[[Sequence[Predicted], Randomness], Measured]
BETTER: dict[MeasurePredicted, str] = {perplexity: LOWER, accuracy: HIGHER}
FEWEST_IN_GROUP = 3


def compute(context: Context) -> CellResult:
    """Perplexity and top-1 accuracy on the test text."""
    from sfumato.models.load import load_model
    from sfumato.training.evaluation import predict_tokens, select_tokens

    settings = check_measure("perplexity", context.cell.settings["settings"])
    there = texts(context)
    if there.test is None:
        raise BadInput("perplexity is measured on [test], which the study does not have")
    documents = there.documents(there.test)
    path = context.target_path
    folder = path / "model" if (path / "model").is_dir() else path
    model = load_model(str(folder), randomness=context.randomness, kind="causal")
    scores = predict_tokens(model, documents)
    found = _measure(scores, context.randomness)
    policy = measured_by(context.study, settings)
    if policy is not None:
        flags = select_tokens(model, documents, policy)
        pairs = list(zip(scores, flags, strict=True))
        chosen = [one.only(mask) for one, mask in pairs]
        others = [one.only(~mask) for one, mask in pairs]
        found += _measure(chosen, context.randomness, ", private tokens")
        found += _measure(others, context.randomness, ", other tokens")
    field = context.cell.settings.get("groups")
    if field:
        for group, places in groups_of(documents).items():
            if len(places) >= FEWEST_IN_GROUP:
                own = [scores[place] for place in places]
                found += _measure(own, context.randomness, group=(field, group))
    return CellResult(rows=tuple(found))


def _measure(
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
