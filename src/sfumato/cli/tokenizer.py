"""``sfumato tokenizer``: learn a tokenizer from private text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli import histogram_options, options, training_options
from sfumato.cli.output import in_options, print_json, stdout

if TYPE_CHECKING:
    from sfumato.models.private_tokenizer import PrivateTokenizer

app = typer.Typer(help="Learn a tokenizer from private text.", no_args_is_help=True)


@app.command("train")
def train(  # noqa: PLR0913  # a command's options are its parameters
    corpus: Annotated[str, typer.Argument(metavar="CORPUS", help="The private text: a file.")],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FOLDER", help="The folder; it is made."),
    ],
    epsilon: histogram_options.EpsilonOption,
    delta: training_options.DeltaOption = "auto",
    kind: Annotated[
        str,
        typer.Option(
            "--kind", metavar="KIND", help="bpe, wordpiece, …: 'sfumato list tokenizers'."
        ),
    ] = "bpe",
    size: Annotated[int, typer.Option("--size", help="The most tokens it may have.")] = 8192,
    words_per_document: histogram_options.WordsOption = 60,
    weights: histogram_options.WeightsOption = "plain",
    unit: histogram_options.UnitOption = "example",
    record: histogram_options.RecordOption = "",
    public_words: Annotated[
        Path | None,
        typer.Option(
            "--public-words",
            metavar="FILE",
            help="Count only these PUBLIC words, one a line; then none needs many documents.",
        ),
    ] = None,
    field: options.FieldOption = options.TEXT,
    author_field: options.AuthorFieldOption = None,
    file_format: options.FormatOption = None,
    encoding: options.EncodingOption = "utf-8",
    no_header: options.NoHeaderOption = False,
    seed: options.SeedOption = None,
    budget: options.BudgetOption = None,
    account: options.CorpusAccountOption = None,
    budget_key: options.BudgetKeyOption = None,
    json: options.JsonOption = False,
) -> None:
    """Learn a tokenizer from private text, with a guarantee for every document of it.

    Each document gives some of its words, noise is added to the counts, and words that too few
    documents give are dropped; the tokenizer is learned from what is left. FOLDER then holds it in
    Hugging Face's format, with guarantee.json beside, and 'sfumato train --tokenizer FOLDER' takes
    it. A model that is trained with it on the same text costs its own level on top;
    'sfumato train --tokenizer-epsilon' does both and says what they cost together.

    Example: sfumato tokenizer train notes.jsonl -o vocabulary --epsilon 1 --size 4000
    """
    from sfumato.verbs.tokenizer import train_tokenizer

    made = train_tokenizer(
        corpus,
        output,
        epsilon=epsilon,
        delta=training_options.delta_from(delta),
        kind=kind,
        size=size,
        words_per_document=words_per_document,
        weights=weights,
        unit=unit,
        record=record,
        public_words=public_words,
        field=options.only_field(field),
        author_field=author_field,
        format=file_format,
        encoding=encoding,
        header=not no_header,
        seed=seed,
        budget=budget,
        account=account,
        budget_key=budget_key,
    )
    _report(made, as_json=json)


def _report(made: PrivateTokenizer, *, as_json: bool) -> None:
    from sfumato.guarantees.guarantee import SEED_LEAK

    if as_json:
        print_json({"tokenizer": str(made.folder)} | made.as_dict(), indent=2)
        return
    console = stdout()
    console.print(made.summary(), markup=False)
    follows = made.guarantee.summary()
    if made.guarantee.for_release:
        trained = f"sfumato train TEXT -o RUN --tokenizer {made.folder} --epsilon …"
        follows = (
            *follows[:2],
            f"Next: '{trained}' trains a model with it; on the same text the levels add up.",
        )
    for line in (*follows, f"Exactly: {made.guarantee.sentence()}"):
        console.print(in_options(line), markup=False)
    if SEED_LEAK in made.guarantee.leaks:
        console.print("REPRODUCIBLE: NOT FOR RELEASE (whoever knows the seed can undo the noise)")
