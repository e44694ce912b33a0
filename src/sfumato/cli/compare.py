"""``sfumato compare``: mechanisms side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli import measuring, options
from sfumato.cli.output import in_options, note, print_json, stdout

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from sfumato.guarantees.guarantee import Guarantee
    from sfumato.metrics.comparison import Comparison
    from sfumato.metrics.rewriting import DocumentComparison

_SHORT = {
    "metric differential privacy": "metric DP",
    "pure differential privacy": "pure DP",
    "utility-optimized metric local differential privacy": "utility-optimized LDP",
    "local differential privacy within groups": "LDP within groups",
    "no formal guarantee": "none",
}


def compare(  # noqa: PLR0913  # a command's options are its parameters
    mechanisms: Annotated[
        list[str] | None,
        typer.Argument(metavar="[M…]", help="Mechanisms. [default: all]", show_default=False),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option("--epsilon", "-e", metavar="E,E,…", help="Privacy levels, by commas."),
    ] = None,
    keep: Annotated[
        float | None,
        typer.Option(
            "--keep",
            help="Instead of --epsilon: each mechanism at the level at which the median public "
            "word stays with this probability.",
        ),
    ] = None,
    corpus: measuring.CorpusOption = None,
    policy: options.PolicyOption = [],  # noqa: B006
    exclude: options.ExceptOption = [],  # noqa: B006
    vectors: options.VectorsOption = None,
    settings: options.SetOption = [],  # noqa: B006
    field: options.FieldOption = options.TEXT,
    file_format: options.FormatOption = None,
    encoding: options.EncodingOption = "utf-8",
    whole_file: options.WholeFileOption = False,
    sample: Annotated[
        int,
        typer.Option(
            "--sample", min=1, max=options.MOST, help="How many words each mechanism is given."
        ),
    ] = 1000,
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder",
            metavar="FOLDER",
            help="For mechanisms that rewrite documents: a sentence encoder to compare meaning by.",
        ),
    ] = None,
    seed: measuring.MeasureSeedOption = None,
    json: options.JsonOption = False,
) -> None:
    """Compare mechanisms: guarantee, words kept, semantic distance, speed.

    Each mechanism has its default settings. The same epsilon means different things in different
    mechanisms; --keep gives each the level at which typical words stay equally often.

    Example: sfumato compare laplace exponential --keep 0.3
    """
    from sfumato.metrics.comparison import Comparison
    from sfumato.verbs.compare import compare as measure

    if corpus or policy or exclude:
        note(measuring.OWN_EYES)
    found = measure(
        mechanisms,
        epsilon=None if epsilon is None else measuring.levels_from(epsilon),
        keep=keep,
        corpus=corpus,
        policy=policy,
        exclude=exclude,
        vectors=vectors,
        settings=options.read_settings(settings),
        field=options.only_field(field),
        format=file_format,
        encoding=encoding,
        whole_file=whole_file,
        sample=sample,
        encoder=encoder,
        seed=seed,
    )
    if json:
        print_json(found.as_dict(), indent=2)
    elif isinstance(found, Comparison):
        _print(found, at_equal_keep=keep is not None)
    else:
        _print_documents(found)


def _print_documents(found: DocumentComparison) -> None:
    from rich.table import Table

    from sfumato.metrics.rewriting import row_of

    console = stdout()
    console.print(f"{found.documents:,} documents of a private text", markup=False)
    table = Table(box=None, padding=(0, 1, 0, 0))
    for title in ("mechanism", "ε", "per", "words kept", "cosine", "floor", "documents/s"):
        table.add_column(title, justify="left" if title in ("mechanism", "per") else "right")
    for one in found.rows:
        table.add_row(*row_of(one))
    console.print(table)
    console.print(
        "\nWords kept: the share of a document's own words that stand in its new text, with its "
        "95 % interval. Cosine: of the vectors of both texts; the floor is that of texts that do "
        "not belong together. Speed: one rough measurement here.",
        markup=False,
    )


def _print(found: Comparison, *, at_equal_keep: bool) -> None:
    console = stdout()
    bench, population = found.bench, found.bench.population
    kind = "words of a private text" if population.private else "frequent public words"
    console.print(f"{len(bench.points):,} {kind}, in {bench.space.name}", markup=False)
    if population.unknown:
        console.print(
            f"outside the vocabulary: {population.unknown:,} of {population.occurrences:,} words "
            "(they never stay as they are, and have no distance)"
        )
    metrics = list(
        dict.fromkeys(row.guarantee.metric for row in found.rows if row.guarantee.metric)
    )
    if found.rows:
        console.print()
        console.print(_table(found, metrics))
    for number, metric in enumerate(metrics, start=1):
        console.print(f"[{number}] {metric}", markup=False)
    if found.skipped:
        console.print("\nnot measured:")
    for one in found.skipped:
        level = "" if one.epsilon is None else f" at ε = {one.epsilon:g}"
        console.print(f"  {one.mechanism}{level}: {in_options(one.reason)}", markup=False)
    console.print(
        "\nKept: share of words that stayed, with its 95 % interval. Distance: mean Euclidean "
        "distance from a word to its replacement, 0 if it stayed; the share is of the distance "
        "between random words. Speed: one rough measurement here; what is built once is timed "
        "apart, in the last column.",
        markup=False,
    )
    fair = (
        "Each level makes the median public word stay equally often; the levels themselves are in "
        "different notions and distances, and cannot be compared."
        if at_equal_keep
        else "Levels in different notions and distances cannot be compared: the same ε hides more "
        "in one mechanism than in another. --keep 0.3 compares them where typical words stay "
        "equally often; 'sfumato suggest M --keep 0.3' finds that level."
    )
    console.print(fair, markup=False)


def _table(found: Comparison, metrics: list[str]) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("mechanism", no_wrap=True)
    table.add_column("ε", justify="right", no_wrap=True)
    table.add_column("guarantee")
    for title in ("kept %", "distance", "share", "words/s", "built s"):
        table.add_column(title, justify="right", no_wrap=True)
    for row in found.rows:
        kept = [f"{100 * share:.0f}" for share in (row.kept.low, row.kept.high)]
        table.add_row(
            row.mechanism,
            f"{row.epsilon:.4g}",
            _guarantee(row.guarantee, metrics),
            f"{100 * row.kept.value:.1f} ({'–'.join(kept)})",
            f"{row.distance.mean:.2f}",
            f"{row.distance.relative:.2f}",
            f"{row.words_per_second:,.0f}",
            f"{row.seconds_to_build:.2f}",
        )
    return table


def _guarantee(guarantee: Guarantee, metrics: list[str]) -> Text:
    from rich.text import Text

    name = _SHORT.get(guarantee.notion.value, guarantee.notion.value)
    number = f" [{metrics.index(guarantee.metric) + 1}]" if guarantee.metric else ""
    return Text(name + number)
