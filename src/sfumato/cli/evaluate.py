"""``sfumato evaluate``: how well a trained model predicts a text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import options
from sfumato.cli.output import print_json, stdout

if TYPE_CHECKING:
    from sfumato.metrics.prediction import Measured

RunArgument = Annotated[
    Path, typer.Argument(metavar="RUN", help="The folder of a finished training run.")
]


def evaluate(  # noqa: PLR0913  # a command's options are its parameters
    run: RunArgument,
    corpus: Annotated[str, typer.Option("--corpus", metavar="FILE", help="The text to predict.")],
    policy: options.PolicyOption = [],  # noqa: B006
    exclude: options.ExceptOption = [],  # noqa: B006
    field: options.FieldOption = "text",
    file_format: options.FormatOption = None,
    encoding: options.EncodingOption = "utf-8",
    settings: options.SetOption = [],  # noqa: B006
    json: options.JsonOption = False,
) -> None:
    """Measure perplexity and top-1 accuracy, with intervals over documents.

    With --policy also on the tokens that the policy selects, and on all others. On private text
    the figures are a release of their own, which the model's guarantee does not cover.

    Example: sfumato evaluate run --corpus test.jsonl --policy digits
    """
    from sfumato.core.checks import extra

    extra("torch", needed_for="evaluating a model", extra="train")
    from sfumato.core.progress import progress
    from sfumato.core.randomness import Randomness
    from sfumato.corpora.formats.layout import Layout
    from sfumato.corpora.source import Source
    from sfumato.models.loading import load_model
    from sfumato.training.evaluation import predicted, selected_tokens
    from sfumato.training.run_folder import opened_run

    folder = opened_run(run)
    own, of_policies = options.settings_from(settings)
    options.refuse_mechanism_settings(own)
    chosen = options.policy_from(policy, exclude, of_policies) if policy else None
    source = Source.of(corpus, Layout(field=field, encoding=encoding), file_format=file_format)
    model = load_model(str(folder.model), randomness=Randomness.secure())
    documents = list(source.documents())
    with progress("evaluating", len(documents), unit_is_bytes=False) as advance:
        scores = predicted(model, documents, advance)
    rows = _rows("all", scores)
    if chosen is not None:
        flags = selected_tokens(model, documents, chosen)
        pairs = list(zip(scores, flags, strict=True))
        rows += _rows("selected", [one.only(flag) for one, flag in pairs])
        rows += _rows("other", [one.only(~flag) for one, flag in pairs])
    print_json(rows, indent=2) if json else _print(rows)


def _rows(tokens: str, scores: list[Any]) -> list[dict[str, Any]]:
    from dataclasses import asdict

    from sfumato.core.randomness import Randomness
    from sfumato.metrics.prediction import accuracy, perplexity

    if not any(len(one.losses) for one in scores):
        return [{"tokens": tokens, "metric": "perplexity", "value": None, "n": 0}]
    found: list[Measured] = [one(scores, Randomness.secure()) for one in (perplexity, accuracy)]
    return [{"tokens": tokens} | asdict(one) for one in found]


def _print(rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table("tokens", "metric", "value", "95 % interval", "n", box=None)
    for row in rows:
        value = "–" if row["value"] is None else f"{row['value']:.4g}"
        interval = f"{row['low']:.4g}–{row['high']:.4g}" if "low" in row else ""
        table.add_row(row["tokens"], row["metric"], value, interval, f"{row['n']:,}")
    stdout().print(table)
