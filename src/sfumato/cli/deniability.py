"""``sfumato deniability``: how likely words stay, and how many words they may become."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import measuring, options
from sfumato.cli.output import note, print_json, stdout

if TYPE_CHECKING:
    from rich.table import Table

    from sfumato.charts.chart import Chart
    from sfumato.metrics.population import Population
    from sfumato.metrics.protection import Protection, Watched

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
    field: options.FieldOption = "text",
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
    from sfumato.core.randomness import Randomness
    from sfumato.files.layout import Layout
    from sfumato.files.source import Source
    from sfumato.mechanisms.build import build
    from sfumato.metrics.deniability import DrawEffort
    from sfumato.metrics.protection import LISTED, Watched, protection

    if output is not None:
        from sfumato.charts.chart import ready_for

        ready_for(output, overwrite=overwrite)
    own, of_policies = options.settings_from(settings)
    layout = Layout(field=field, encoding=encoding, whole_file=whole_file)
    given = measuring.MeasuredCorpus(
        Source.of(corpus, layout, file_format=file_format) if corpus else None,
        measuring.policy_from(policy, exclude, of_policies),
    )
    effort = DrawEffort(eta=eta, draws=draws)
    levels = measuring.levels_from(epsilon)
    space = measuring.space_from(vectors)
    # Whatever is wrong with a level or a setting is said before anything takes long.
    built = [build(mechanism, space=space, epsilon=level, settings=own) for level in levels]
    population = given.population(space)
    randomness = Randomness.secure() if seed is None else Randomness.reproducible(seed)
    watched = Watched.of(population, words, randomness.stream(0))
    with measuring.counting("measuring", len(built) * (len(watched) + LISTED)) as done:
        found = [
            protection(one, watched, effort, randomness.stream(1 + place), done)
            for place, one in enumerate(built)
        ]
    report = dict(zip(levels, found, strict=True))
    if output is not None:
        _chart(f"{mechanism} in {space.name}", report, eta, population).save(
            output, overwrite=overwrite
        )
    if json:
        header = {"mechanism": mechanism, "settings": own, "vectors": space.name, "eta": eta}
        words_seen = {"words": _words_as_dict(population, watched)}
        print_json(header | words_seen | _levels_as_dict(report), indent=2)
    else:
        _print(report, eta, population)
    if output is not None:
        note(f"the chart is in {output}")


def _levels_as_dict(report: dict[float, Protection]) -> dict[str, Any]:
    return {
        "levels": [
            {"epsilon": level, **measuring.protection_as_dict(found)}
            for level, found in report.items()
        ]
    }


def _words_as_dict(population: Population, watched: Watched) -> dict[str, Any]:
    return {
        "private": population.private,
        "distinct": len(population),
        "sampled": len(watched.sample),
        "isolated": len(watched.suspects),
        "unknown_occurrences": population.unknown,
    }


def _chart(
    title: str, report: dict[float, Protection], eta: float, population: Population
) -> Chart:
    from sfumato.charts.deniability import LevelLabels, LevelRow, deniability_chart
    from sfumato.metrics.deniability import most_shown

    some = next(iter(report.values()))
    exact = "exact" if some.exact else f"{some.draws} draws per word"
    held = f"fewest words that hold {measuring.percent(1 - eta)} (S)"
    rows = [
        LevelRow(
            epsilon=level,
            keep_low=found.keep.low,
            keep_median=found.keep.median,
            keep_high=found.keep.high,
            keep_worst=found.worst_keep,
            outputs_worst=found.worst_outputs,
            outputs_low=found.outputs.low,
            outputs_median=found.outputs.median,
            outputs_high=found.outputs.high,
        )
        for level, found in report.items()
    ]
    labels = LevelLabels(
        title=title,
        subtitle=f"{some.words:,} of {_of_which(population)}; {exact}",
        outputs_title=held if some.exact else f"{held}, at least",
        ceiling=None if some.exact else (most_shown(some.draws, eta), "most that draws can show"),
    )
    return deniability_chart(rows, labels)


def _of_which(population: Population) -> str:
    kind = "distinct words of a private text" if population.private else "frequent public words"
    return f"{len(population):,} {kind}"


def _print(report: dict[float, Protection], eta: float, population: Population) -> None:
    from sfumato.metrics.deniability import most_shown

    console = stdout()
    some = next(iter(report.values()))
    console.print(f"{some.words:,} of {_of_which(population)}", markup=False)
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
    for level, found in shown:
        console.print(f"\nleast protected words at ε = {level:g}, of all that were looked at:")
        console.print(measuring.exposed_table(found))
    console.print(f"\n{_moral(report)}", markup=False)


def _keep_table(report: dict[float, Protection]) -> Table:
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


def _outputs_table(report: dict[float, Protection]) -> Table:
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


def _moral(report: dict[float, Protection]) -> str:
    level, found = max(report.items(), key=lambda item: item[1].worst_keep - item[1].keep.median)
    return (
        f"A median is no promise: at ε = {level:g} the median word stays with probability "
        f"{measuring.chance(found.keep.median)}, the least protected one with "
        f"{measuring.chance(found.worst_keep)}."
    )
