"""``sfumato attack``: what a model or a privatized text still gives away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli import options
from sfumato.cli.output import in_options, note, print_json, stdout
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    from rich.table import Table

    from sfumato.results.measured import Measured
    from sfumato.results.scores import Scores, ScoresOfAll


def print_scores(scores: Scores) -> None:
    """Figures beside chance, the control below them, then what to know."""
    console = stdout()
    console.print(f"{scores.attack} ({scores.seconds:.1f} s)", style="bold", markup=False)
    console.print(_table(scores.figures, scores.chance))
    console.print(f"\nnull control — {scores.control.what}:", markup=False)
    console.print(_table(scores.control.figures, scores.chance))
    console.print()
    for sentence in (scores.knowledge, *scores.notes):
        console.print(in_options(sentence), markup=False)
    console.print()


def print_skipped(skipped: Mapping[str, str]) -> None:
    """What was not run, and what it needs."""
    console = stdout()
    if skipped:
        console.print("not run:", markup=False)
    for name, why in skipped.items():
        console.print(in_options(f"  {name}: {why}"), markup=False)


def _table(figures: Sequence[Measured], chance: Mapping[str, float]) -> Table:
    from rich.table import Table

    table = Table("figure", box=None)
    for title in ("value", "95 % interval", "chance", "n"):
        table.add_column(title, justify="right", no_wrap=True)
    for one in figures:
        by_chance = chance.get(one.metric)
        table.add_row(
            one.metric,
            f"{one.value:.4g}",
            "–" if one.low is None or one.high is None else f"{one.low:.4g} – {one.high:.4g}",
            "–" if by_chance is None else f"{by_chance:.4g}",
            f"{one.n:,}",
        )
    return table


ALL = "all"

CacheOption = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        metavar="FOLDER",
        help="Where token scores are kept for the next attack; as private as the texts. "
        "[default: TARGET.attacks beside a model]",
    ),
]


def attack(  # noqa: PLR0913  # a command's options are its parameters
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="An attack ('sfumato list attacks'), or all."),
    ],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="TARGET", help="The folder of a run or of a model, or a privatized file."
        ),
    ],
    members: Annotated[
        Path | None, typer.Option("--members", metavar="FILE", help="Text the model was shown.")
    ] = None,
    others: Annotated[
        Path | None,
        typer.Option("--others", metavar="FILE", help="Text of the same kind it was not shown."),
    ] = None,
    originals: Annotated[
        Path | None,
        typer.Option("--originals", metavar="FILE", help="What a privatized file was made from."),
    ] = None,
    canaries: Annotated[
        Path | None,
        typer.Option(
            "--canaries", metavar="FILE", help="The list 'sfumato data canaries' has written."
        ),
    ] = None,
    reference: Annotated[
        list[Path],
        typer.Option(
            "--reference",
            metavar="RUN",
            help="A model of the same kind that has not seen the members; repeat for more.",
        ),
    ] = [],  # noqa: B006
    settings: Annotated[
        list[str],
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the attack."),
    ] = [],  # noqa: B006
    cache: CacheOption = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Keep no scores.")] = False,
    output: options.ChartOption = None,
    overwrite: options.OverwriteOption = False,
    field: options.RecordedFieldOption = [],  # noqa: B006
    author_field: options.AuthorFieldOption = None,
    label_field: options.LabelFieldOption = None,
    file_format: options.FormatOption = None,
    encoding: options.EncodingOption = "utf-8",
    no_header: options.NoHeaderOption = False,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Draw the same candidates and resamples again.")
    ] = None,
    json: options.JsonOption = False,
) -> None:
    """Attack a trained model or a privatized text, and say what leaks.

    Every figure comes with its interval, with what chance would score, with the same attack where
    nothing can leak, and with a sentence on what the attacker was assumed to know. A small figure
    is no guarantee: it may mean that nobody tried hard enough. The figures are measured on private
    text and are a release of their own. 'all' runs every attack for which the files are given.

    Example: sfumato attack exposure run --canaries notes.jsonl.canaries.json
    """
    from sfumato.verbs.attack import attack as attack_one
    from sfumato.verbs.attack import attack_all, choose_attack

    own = options.read_settings(settings)
    if own and name == ALL:
        raise InvalidArgument("--set is for one attack; 'all' runs each with its own defaults")
    if output is not None:
        _ready_for_chart(name, output, overwrite=overwrite)
    chosen = None if name == ALL else choose_attack(name, own)
    found: Scores | ScoresOfAll = (attack_all if chosen is None else partial(attack_one, chosen))(
        target,
        members=members,
        others=others,
        originals=originals,
        canaries=canaries,
        reference=reference,
        cache=cache,
        no_cache=no_cache,
        field=options.only_field(field) if field else None,
        author_field=author_field,
        label_field=label_field,
        format=file_format,
        encoding=encoding,
        header=not no_header,
        seed=seed,
    )
    if output is not None:
        chosen.chart(found).save(output, overwrite=overwrite)  # type: ignore[union-attr]
    print_json(found.as_dict(), indent=2) if json else _print(found)
    if output is not None:
        note(f"the chart is in {output}")


def _print(found: Scores | ScoresOfAll) -> None:
    from sfumato.results.scores import ScoresOfAll

    if not isinstance(found, ScoresOfAll):
        print_scores(found)
        return
    for one in found.scores:
        print_scores(one)
    print_skipped(found.skipped)


def _ready_for_chart(name: str, output: Path, *, overwrite: bool) -> None:
    from sfumato.catalog import find
    from sfumato.charts.chart import ready_for

    if name == ALL or not hasattr(find("attacks", name).load(), "chart"):
        raise InvalidArgument(f"{name} draws no chart; leave out --output, or take --json")
    ready_for(output, overwrite=overwrite)
