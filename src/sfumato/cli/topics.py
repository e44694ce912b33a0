"""``sfumato topics``: what documents are about, with a guarantee for each of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli import histogram_options, options, training_options
from sfumato.cli.output import in_options, print_json, stdout, visible

if TYPE_CHECKING:
    from sfumato.verbs.topics import TopicStatistics


def topics(  # noqa: PLR0913  # a command's options are its parameters
    corpus: Annotated[str, typer.Argument(metavar="CORPUS", help="The private text: a file.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="JSON lines, one per topic.")
    ],
    epsilon: histogram_options.EpsilonOption,
    topics: Annotated[int, typer.Option("--topics", min=1, help="How many topics.")] = 10,
    words: Annotated[
        int, typer.Option("--words", min=1, help="How many words of each are shown.")
    ] = 10,
    delta: training_options.DeltaOption = "auto",
    words_per_document: Annotated[
        int,
        typer.Option(
            "--words-per-document",
            metavar="K",
            min=1,
            help="The most different words, and pairs of words, that a document (or author) gives, "
            "drawn from its own; fewer need less noise.",
        ),
    ] = 100,
    weights: histogram_options.WeightsOption = "plain",
    common: Annotated[
        int,
        typer.Option("--common", min=0, help="So many frequent public words are left out."),
    ] = 150,
    unit: histogram_options.UnitOption = "example",
    record: histogram_options.RecordOption = "",
    field: options.FieldOption = options.TEXT,
    author_field: options.AuthorFieldOption = None,
    file_format: options.FormatOption = None,
    encoding: options.EncodingOption = "utf-8",
    no_header: options.NoHeaderOption = False,
    overwrite: options.OverwriteOption = False,
    seed: options.SeedOption = None,
    budget: options.BudgetOption = None,
    account: options.CorpusAccountOption = None,
    budget_key: options.BudgetKeyOption = None,
    json: options.JsonOption = False,
) -> None:
    """Find topics in private documents, with a guarantee for each document.

    What is released is how many documents have each word and each pair of words, with noise, where
    there are many; topics are groups of words that stand together, computed from these counts.
    No document is said to have a topic. FILE.guarantee.json says what is proven.

    Example: sfumato topics notes.jsonl -o topics.jsonl --topics 5 --epsilon 2
    """
    from sfumato.verbs.topics import topics as find

    found = find(
        corpus,
        output,
        epsilon=epsilon,
        topics=topics,
        words=words,
        delta=training_options.delta_from(delta),
        words_per_document=words_per_document,
        weights=weights,
        common=common,
        unit=unit,
        record=record,
        field=options.only_field(field),
        author_field=author_field,
        format=file_format,
        encoding=encoding,
        header=not no_header,
        overwrite=overwrite,
        seed=seed,
        budget=budget,
        account=account,
        budget_key=budget_key,
    )
    _report(found, as_json=json)


def _report(found: TopicStatistics, *, as_json: bool) -> None:
    from sfumato.guarantees.guarantee import SEED_LEAK

    if as_json:
        print_json({"output": str(found.path)} | found.as_dict(), indent=2)
        return
    console = stdout()
    for row in found.rows():
        console.print(f"{row['topic']}: {visible(', '.join(row['words']))}", markup=False)
    for line in (*found.guarantee.summary()[:2], f"Exactly: {found.guarantee.sentence()}"):
        console.print(in_options(line), markup=False)
    if SEED_LEAK in found.guarantee.leaks:
        console.print("REPRODUCIBLE: NOT FOR RELEASE (whoever knows the seed can undo the noise)")
