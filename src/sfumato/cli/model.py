"""``sfumato evaluate`` and ``sfumato generate``: what a trained model predicts and writes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli import options
from sfumato.cli.output import note, print_json, stdout, visible

if TYPE_CHECKING:
    from sfumato.training.evaluation import Evaluation

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
    field: options.RecordedFieldOption = [],  # noqa: B006
    author_field: options.AuthorFieldOption = None,
    label_field: options.LabelFieldOption = None,
    group_field: options.GroupFieldOption = None,
    span_field: options.SpanFieldOption = None,
    file_format: options.FormatOption = None,
    encoding: options.EncodingOption = "utf-8",
    no_header: options.NoHeaderOption = False,
    json: options.JsonOption = False,
) -> None:
    """Measure perplexity and top-1 accuracy, with intervals over documents.

    With --policy also on the tokens that the policy selects, and on all others. A classifier needs
    --label-field; accuracy, Matthews correlation and F1 are measured, also for every group of
    documents with the same --group-field. Of a tagger precision, recall and F1 of labeled spans are
    measured, exact to the character. With --author-field the documents of an author count as
    one in the intervals. On private text the figures are a release of their own, which the model's
    guarantee does not cover; they are shown, and written nowhere.

    Example: sfumato evaluate run --corpus test.jsonl --policy digits
    """
    from sfumato.verbs.model import evaluate as evaluate_run

    own, of_policies = options.settings_from(settings)
    options.refuse_mechanism_settings(own)
    found = evaluate_run(
        run,
        corpus,
        policy=policy,
        exclude=exclude,
        settings=of_policies,
        field=options.only_field(field) if field else None,
        author_field=author_field,
        label_field=label_field,
        group_field=group_field,
        span_field=span_field,
        format=file_format,
        encoding=encoding,
        header=not no_header,
    )
    print_json(found.as_dicts(), indent=2) if json else _print_evaluation(found)


def _print_evaluation(found: Evaluation) -> None:
    from rich.table import Table

    from sfumato.training.evaluation import COLUMNS

    table = Table(*COLUMNS, box=None)
    for row in found.rows:
        table.add_row(*row.cells())
    stdout().print(table)
    for line in found.notes:
        note(line)


def generate(  # noqa: PLR0913  # a command's options are its parameters
    run: RunArgument,
    prompt: Annotated[str, typer.Option("--prompt", help="How the text begins.")] = "",
    tokens: Annotated[
        int, typer.Option("--tokens", min=1, max=options.MOST, help="At most so many.")
    ] = 50,
    temperature: Annotated[
        float, typer.Option("--temperature", help="0 takes the likeliest token.")
    ] = 1.0,
    top: Annotated[
        int | None,
        typer.Option("--top", min=1, max=options.MOST, help="Only among so many likeliest tokens."),
    ] = None,
    samples: Annotated[
        int, typer.Option("--samples", min=1, max=options.MOST, help="How many texts.")
    ] = 1,
    seed: Annotated[int | None, typer.Option("--seed", help="Say the same again.")] = None,
    json: options.JsonOption = False,
) -> None:
    """Let a trained model go on with a text.

    What a model that was trained with a guarantee says has that guarantee, however often it is
    asked: it costs nothing more, so no budget pays for it.

    Example: sfumato generate run --prompt "The patient" --tokens 30
    """
    from sfumato.verbs.model import generate as let_speak

    said = let_speak(
        run,
        prompt,
        tokens=tokens,
        temperature=temperature,
        top=top,
        samples=samples,
        seed=seed,
    )
    if json:
        print_json({"prompt": prompt, "texts": list(said)}, indent=2)
        return
    sys.stdout.write("\n\n".join(visible(text) for text in said) + "\n")
