"""``sfumato compare``: mechanisms side by side."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import measuring, options
from sfumato.cli.output import in_options, print_json, stdout
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from sfumato.guarantees.guarantee import Guarantee
    from sfumato.metrics.comparison import Bench, Compared, Comparison
    from sfumato.metrics.population import Population

# Words on which a level is looked for when --keep is given; all are public.
SEARCHED_WORDS = 100

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
    field: options.FieldOption = "text",
    file_format: options.FormatOption = None,
    encoding: options.EncodingOption = "utf-8",
    whole_file: options.WholeFileOption = False,
    sample: Annotated[
        int,
        typer.Option(
            "--sample", min=1, max=options.MOST, help="How many words each mechanism is given."
        ),
    ] = 1000,
    seed: measuring.MeasureSeedOption = None,
    json: options.JsonOption = False,
) -> None:
    """Compare mechanisms: guarantee, words kept, semantic distance, speed.

    Each mechanism has its default settings. The same epsilon means different things in different
    mechanisms; --keep gives each the level at which typical words stay equally often.

    Example: sfumato compare laplace exponential --keep 0.3
    """
    from sfumato.core.randomness import Randomness
    from sfumato.files.layout import Layout
    from sfumato.files.source import Source
    from sfumato.metrics.comparison import Bench, at_keep, at_levels
    from sfumato.metrics.population import frequent_words
    from sfumato.metrics.protection import Watched
    from sfumato.metrics.similarity import random_pairs_distance

    levels = _levels(epsilon, keep)
    own, of_policies = options.settings_from(settings)
    options.refuse_mechanism_settings(own)
    names = _names(mechanisms)
    layout = Layout(field=field, encoding=encoding, whole_file=whole_file)
    given = measuring.MeasuredCorpus(
        Source.of(corpus, layout, file_format=file_format) if corpus else None,
        measuring.policy_from(policy, exclude, of_policies),
    )
    space = measuring.space_from(vectors)
    population = given.population(space)
    randomness = Randomness.secure() if seed is None else Randomness.reproducible(seed)
    bench = Bench(
        space,
        population.running_words(sample, randomness.stream(0)),
        random_pairs_distance(space, randomness.stream(1)),
        randomness.stream(2),
    )
    with measuring.counting("mechanisms", len(names)) as done:
        if keep is None:
            found = at_levels(bench, names, levels, done)
        else:
            watched = Watched.of(frequent_words(space), SEARCHED_WORDS, randomness.stream(3))
            found = at_keep(bench, names, keep, watched, done)
    if json:
        print_json(_as_dict(bench, population, found), indent=2)
    else:
        _print(bench, population, found, at_equal_keep=keep is not None)


def _levels(epsilon: str | None, keep: float | None) -> list[float]:
    if (epsilon is None) == (keep is None):
        raise InvalidArgument(
            "give either --epsilon, a level or several, or --keep, a probability between 0 and 1"
        )
    if keep is not None and not 0 < keep < 1:
        raise InvalidArgument(f"keep={keep} must lie between 0 and 1, both excluded")
    return measuring.levels_from(epsilon) if epsilon is not None else []


def _names(given: list[str] | None) -> list[str]:
    from sfumato.catalog import entries, find

    return [find("mechanisms", name).name for name in given or entries("mechanisms")]


def _as_dict(bench: Bench, population: Population, found: Comparison) -> dict[str, Any]:
    return {
        "vectors": bench.space.name,
        "words": {
            "private": population.private,
            "occurrences": population.occurrences,
            "sampled": len(bench.points),
            "unknown_occurrences": population.unknown,
        },
        "distance_of_random_pairs": bench.typical_distance,
        "rows": [_row_as_dict(row) for row in found.rows],
        "skipped": [asdict(one) for one in found.skipped],
    }


def _row_as_dict(row: Compared) -> dict[str, Any]:
    return {
        "mechanism": row.mechanism,
        "epsilon": row.epsilon,
        "guarantee": row.guarantee.as_dict(),
        "kept": asdict(row.kept),
        "distance": asdict(row.distance),
        "words_per_second": row.words_per_second,
        "seconds_to_build": row.seconds_to_build,
        "median_keep": asdict(row.suggestion.protection.median) if row.suggestion else None,
    }


def _print(bench: Bench, population: Population, found: Comparison, *, at_equal_keep: bool) -> None:
    console = stdout()
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
