"""``sfumato deniability``: how well words are hidden at some levels.

``sfumato suggest``: the level at which the median word stays with a given probability.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli import measuring, options
from sfumato.cli.output import note, print_json, stdout
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    from rich.table import Table

    from sfumato.metrics.levels import ProtectionByLevel, Suggestion
    from sfumato.metrics.protection import Protection

# With more levels than this, only the words of the largest one are listed for people.
LISTED_LEVELS = 3


def deniability(  # noqa: PLR0913  # a command's options are its parameters
    mechanism: measuring.MechanismArgument,
    epsilon: measuring.LevelsOption,
    corpus: measuring.CorpusOption = None,
    policy: options.PolicyOption = [],  # noqa: B006
    exclude: options.ExceptOption = [],  # noqa: B006
    vectors: options.VectorsOption = None,
    settings: options.SetOption = [],  # noqa: B006
    field: options.FieldOption = options.TEXT,
    file_format: options.FormatOption = None,
    encoding: options.EncodingOption = "utf-8",
    whole_file: options.WholeFileOption = False,
    words: measuring.WordsOption = 200,
    draws: measuring.DrawsOption = 150,
    eta: Annotated[
        float, typer.Option("--eta", help="S is the fewest outputs that hold 1 − eta.")
    ] = 0.1,
    output: options.ChartOption = None,
    overwrite: options.OverwriteOption = False,
    seed: measuring.MeasureSeedOption = None,
    json: options.JsonOption = False,
) -> None:
    """Show how well words are hidden at some levels, and which are hidden least.

    N is the probability that a word stays as it is; S is the number of words it may become: the
    fewest that hold 90 % of the probability. Exact where the mechanism has rows, estimated
    otherwise. Without --corpus or --policy, frequent public words are looked at.

    Example: sfumato deniability laplace --epsilon 1,5,10 -o chart.svg
    """
    from sfumato.verbs.deniability import deniability as measure

    if output is not None:
        from sfumato.charts.chart import ready_for

        ready_for(output, overwrite=overwrite)
    if corpus or policy or exclude:
        note(measuring.OWN_EYES)
    found = measure(
        mechanism,
        measuring.levels_from(epsilon),
        corpus=corpus,
        policy=policy,
        exclude=exclude,
        vectors=vectors,
        settings=options.read_settings(settings),
        field=options.only_field(field),
        format=file_format,
        encoding=encoding,
        whole_file=whole_file,
        words=words,
        draws=draws,
        eta=eta,
        seed=seed,
    )
    if output is not None:
        found.chart().save(output, overwrite=overwrite)
    print_json(found.as_dict(), indent=2) if json else _print(found)
    if output is not None:
        note(f"the chart is in {output}")


def _print(found: ProtectionByLevel) -> None:
    from sfumato.metrics.deniability import most_shown

    console = stdout()
    report, population, eta = found.levels, found.population, found.eta
    some = next(iter(report.values()))
    console.print(f"{some.words:,} of {found.words}", markup=False)
    if population.unknown:
        console.print(
            f"outside the vocabulary: {population.unknown:,} of {population.occurrences:,} "
            "occurrences (such words never stay as they are)"
        )
    console.print()
    console.print("N, the probability that a word stays as it is, over these words:")
    console.print(_keep_table(report))
    least = "" if some.exact else ", at least"
    console.print(
        f"\nS, the fewest words that hold {measuring.percent(1 - eta)} of the probability{least}:"
    )
    console.print(_outputs_table(report))
    if not some.exact:
        console.print(
            f"\nN is estimated from {some.draws} draws per word, with 95 % intervals. S is a lower "
            f"bound (95 %), and {some.draws} draws can show {most_shown(some.draws, eta)} at most.",
            markup=False,
        )
    shown = list(report.items())[-1:] if len(report) > LISTED_LEVELS else report.items()
    for level, there in shown:
        console.print(f"\nleast protected words at ε = {level:g}, of all that were looked at:")
        console.print(measuring.exposed_table(there))
    console.print(f"\n{_moral(report)}", markup=False)


def _keep_table(report: Mapping[float, Protection]) -> Table:
    table = _of_numbers("ε", "10 %", "median", "95 % interval", "90 %", "worst", "> 0.5", "> 0.9")
    for level, found in report.items():
        table.add_row(
            f"{level:g}",
            measuring.chance(found.keep.low),
            measuring.chance(found.keep.median),
            f"{measuring.chance(found.median.low)}–{measuring.chance(found.median.high)}",
            measuring.chance(found.keep.high),
            measuring.chance(found.worst_keep),
            measuring.percent(found.above_half),
            measuring.percent(found.above_nine_tenths),
        )
    return table


def _outputs_table(report: Mapping[float, Protection]) -> Table:
    table = _of_numbers("ε", "worst", "10 %", "median", "90 %")
    for level, found in report.items():
        spread = found.outputs
        counts = (found.worst_outputs, spread.low, spread.median, spread.high)
        table.add_row(f"{level:g}", *(f"{count:,.0f}" for count in counts))
    return table


def _of_numbers(*titles: str) -> Table:
    from rich.table import Table

    table = Table(box=None)
    for title in titles:
        table.add_column(title, justify="right", no_wrap=True)
    return table


def _moral(report: Mapping[float, Protection]) -> str:
    level, found = max(report.items(), key=lambda item: item[1].worst_keep - item[1].keep.median)
    return (
        f"A median is no promise: at ε = {level:g} the median word stays with probability "
        f"{measuring.chance(found.keep.median)}, the least protected one with "
        f"{measuring.chance(found.worst_keep)}."
    )


def suggest(  # noqa: PLR0913  # a command's options are its parameters
    mechanism: measuring.MechanismArgument,
    keep: Annotated[
        float, typer.Option("--keep", help="How likely the median word may stay as it is.")
    ],
    vectors: options.VectorsOption = None,
    settings: options.SetOption = [],  # noqa: B006
    words: measuring.WordsOption = 200,
    draws: measuring.DrawsOption = 150,
    corpus: Annotated[str | None, typer.Option("--corpus", hidden=True)] = None,
    seed: measuring.MeasureSeedOption = None,
    json: options.JsonOption = False,
) -> None:
    """Find the epsilon at which the median public word stays with a given probability.

    It looks at public words only, so it costs no privacy. The median is not the whole answer:
    words that stay far more often at that level are named.

    Example: sfumato suggest laplace --keep 0.3
    """
    from sfumato.verbs.deniability import suggest as find_level

    if corpus is not None:
        raise InvalidArgument(
            "a level chosen by looking at a private text would say something about that text, and "
            "nothing charges for it: suggest looks at public words only; 'sfumato deniability M "
            "--epsilon E --corpus FILE' shows you what a level does to your own words"
        )
    own = options.read_settings(settings)
    found = find_level(
        mechanism, keep, vectors=vectors, settings=own, words=words, draws=draws, seed=seed
    )
    if json:
        chosen = {"mechanism": mechanism, "settings": own, "vectors": found.vectors}
        print_json(chosen | found.as_dict(), indent=2)
    else:
        _print_suggestion(mechanism, found)
    if found.caution:
        note(f"warning: {found.caution}")


def _print_suggestion(mechanism: str, found: Suggestion) -> None:
    console = stdout()
    there = found.protection
    half, most = map(measuring.percent, (there.above_half, there.above_nine_tenths))
    console.print(f"ε = {found.epsilon:.4g}\n")
    console.print(
        f"At this level the median of {there.words:,} public words stays with probability "
        f"{measuring.with_interval(there.median)}; {half} of them stay with more than 0.5, {most} "
        "with more than 0.9.",
        markup=False,
    )
    console.print("\nThese stay longest, and are exposed although the median is not:")
    console.print(measuring.exposed_table(there))
    console.print(
        "\nWhat it means: half of the words stay as often as the median or more, so this is a "
        "level for typical words, not a promise for each. It was chosen on public words, so it "
        "costs no privacy, and it knows nothing of yours: see\n"
        f"  sfumato deniability {mechanism} --epsilon {found.epsilon:.4g} --corpus YOUR-FILE",
        markup=False,
    )
