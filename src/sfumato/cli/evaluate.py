"""``sfumato evaluate``: how well a trained model predicts a text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import options
from sfumato.cli.output import print_json, stdout

if TYPE_CHECKING:
    from sfumato.models.load import LoadedModel
    from sfumato.policies.policy import Policy
    from sfumato.results.measured import Predicted
    from sfumato.text.document import Document

RunArgument = Annotated[
    Path, typer.Argument(metavar="RUN", help="The folder of a finished training run.")
]


def evaluate(  # noqa: PLR0913  # a command's options are its parameters
    run: RunArgument,
    corpus: Annotated[str, typer.Option("--corpus", metavar="FILE", help="The text to predict.")],
    policy: options.PolicyOption = [],  # noqa: B006
    exclude: options.ExceptOption = [],  # noqa: B006
    settings: Annotated[
        list[str],
        typer.Option("--set", metavar="POLICY.KEY=VALUE", help="A setting of a policy."),
    ] = [],  # noqa: B006
    field: options.FieldOption = "text",
    label_field: options.LabelFieldOption = None,
    file_format: options.FormatOption = None,
    encoding: options.EncodingOption = "utf-8",
    json: options.JsonOption = False,
) -> None:
    """Measure perplexity and top-1 accuracy, with intervals over documents.

    With --policy also on the tokens that the policy selects, and on all others. A classifier needs
    --label-field, and its accuracy is measured. On private text the figures are a release of their
    own, which the model's guarantee does not cover; they are shown, and written nowhere.

    Example: sfumato evaluate run --corpus test.jsonl --policy digits
    """
    from sfumato.core.checks import extra

    extra("torch", needed_for="evaluating a model", extra="train")
    from sfumato.core.randomness import Randomness
    from sfumato.files.layout import Layout
    from sfumato.files.source import Source
    from sfumato.models.load import load_model
    from sfumato.training.folder import open_run

    folder = open_run(run)
    own, of_policies = options.settings_from(settings)
    options.refuse_mechanism_settings(own)
    chosen = options.policy_from(policy, exclude, of_policies) if policy else None
    kind = str(folder.settings().get("kind", "causal"))
    _refuse_half_a_request(kind, label_field, policies=bool(policy), excepts=bool(exclude))
    layout = Layout(field=field, encoding=encoding, label_field=label_field)
    documents = list(Source.of(corpus, layout, file_format=file_format).documents())
    model = load_model(str(folder.model), randomness=Randomness.secure(), kind=kind)
    rows = _rows(model, documents, chosen)
    print_json(rows, indent=2) if json else _print(rows)


def _refuse_half_a_request(
    kind: str, label_field: str | None, *, policies: bool, excepts: bool
) -> None:
    from sfumato.core.errors import InvalidArgument

    if kind == "classifier" and policies:
        raise InvalidArgument("--policy selects tokens to predict; a classifier predicts none")
    if kind == "classifier" and label_field is None:
        raise InvalidArgument("a classifier needs --label-field, the field that holds the label")
    if kind != "classifier" and label_field is not None:
        raise InvalidArgument("--label-field is for classifiers; this run trained none")
    if excepts and not policies:
        raise InvalidArgument("--except leaves out of what --policy selects; give --policy, too")


def _rows(
    model: LoadedModel, documents: list[Document], policy: Policy | None
) -> list[dict[str, Any]]:
    from sfumato.core.progress import progress
    from sfumato.results.measured import accuracy, perplexity
    from sfumato.training.evaluation import predict_labels, predict_tokens, select_tokens

    with progress("evaluating", len(documents), unit_is_bytes=False) as advance:
        if model.classes:
            return _measure("labels", predict_labels(model, documents, advance), accuracy)
        scores = predict_tokens(model, documents, advance)
    rows = _measure("all", scores, perplexity, accuracy)
    if policy is not None:
        pairs = list(zip(scores, select_tokens(model, documents, policy), strict=True))
        chosen = [one.only(flags) for one, flags in pairs]
        others = [one.only(~flags) for one, flags in pairs]
        rows += _measure("selected", chosen, perplexity, accuracy)
        rows += _measure("other", others, perplexity, accuracy)
    return rows


def _measure(tokens: str, scores: list[Predicted], *metrics: Any) -> list[dict[str, Any]]:
    from dataclasses import asdict

    from sfumato.core.randomness import Randomness

    if not any(len(one.losses) for one in scores):
        nothing = {"value": None, "low": None, "high": None, "n": 0}
        return [{"tokens": tokens, "metric": one.__name__} | nothing for one in metrics]
    return [{"tokens": tokens} | asdict(one(scores, Randomness.secure())) for one in metrics]


def _print(rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table("tokens", "metric", "value", "95 % interval", "n", box=None)
    for row in rows:
        value = "–" if row["value"] is None else f"{row['value']:.4g}"
        interval = "–" if row["low"] is None else f"{row['low']:.4g}–{row['high']:.4g}"
        table.add_row(row["tokens"], row["metric"], value, interval, f"{row['n']:,}")
    stdout().print(table)
