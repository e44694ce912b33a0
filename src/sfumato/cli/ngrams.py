"""``sfumato ngrams``: the words and n-grams that many documents have in common."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli import histogram_options, options, training_options
from sfumato.cli.output import in_options, print_json, stdout
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    from sfumato.verbs.ngrams import NgramStatistics


def ngrams(  # noqa: PLR0913  # a command's options are its parameters
    corpus: Annotated[str, typer.Argument(metavar="CORPUS", help="The private text: a file.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="JSON lines, one per n-gram.")
    ],
    epsilon: histogram_options.EpsilonOption,
    n: Annotated[
        str,
        typer.Option("--n", metavar="N|1..N", help="The longest n-grams; all shorter ones come."),
    ] = "2",
    delta: training_options.DeltaOption = "auto",
    words_per_document: histogram_options.WordsOption = 60,
    weights: histogram_options.WeightsOption = "plain",
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
    """Release the n-grams that many documents have in common, with a guarantee for each document.

    The count of an n-gram is about how many documents have it, with noise; --n 1 gives statistics
    of single words. Words are in lower case. Longer n-grams are looked for among those whose parts
    came through, and every length gets the same noise. FILE.guarantee.json says what is proven.

    Example: sfumato ngrams notes.jsonl -o phrases.jsonl --n 1..3 --epsilon 1
    """
    from sfumato.verbs.ngrams import ngrams as count

    found = count(
        corpus,
        output,
        epsilon=epsilon,
        n=_longest(n),
        delta=training_options.delta_from(delta),
        words_per_document=words_per_document,
        weights=weights,
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


def _longest(written: str) -> int:
    """The largest length of ``3`` or ``1..3``.

    >>> _longest("3"), _longest("1..3")
    (3, 3)
    """
    first, dots, last = written.partition("..")
    number = last if dots else first
    if not number.isdecimal() or (dots and first != "1"):
        raise InvalidArgument(f"--n {written} must be a number, or 1..N: every length is released")
    return int(number)


def _report(found: NgramStatistics, *, as_json: bool) -> None:
    from sfumato.guarantees.guarantee import SEED_LEAK

    if as_json:
        print_json({"output": str(found.path)} | found.as_dict(), indent=2)
        return
    console = stdout()
    for length, level in enumerate(found.found.levels, start=1):
        console.print(f"n = {length}: {len(level):,} n-grams came through", markup=False)
    follows = found.guarantee.summary()
    if found.guarantee.for_release:
        follows = (*follows[:2], "Next: whatever you count next in the same text adds its level.")
    for line in (*follows, f"Exactly: {found.guarantee.sentence()}"):
        console.print(in_options(line), markup=False)
    if SEED_LEAK in found.guarantee.leaks:
        console.print("REPRODUCIBLE: NOT FOR RELEASE (whoever knows the seed can undo the noise)")
