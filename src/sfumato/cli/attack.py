"""``sfumato attack``: what a model or a privatized text still gives away.

How the result of an attack is shown to a person.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import options
from sfumato.cli.output import in_options, note, print_json, stdout

if TYPE_CHECKING:
    from rich.table import Table

    from sfumato.attacks.attack import Attack, Done, Inputs
    from sfumato.core.randomness import Randomness
    from sfumato.results.measured import Measured
    from sfumato.results.scores import Scores


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
# A bar counts in thousandths: an attack's phases have totals of their own.
_STEPS = 1000

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
    field: options.FieldOption = "text",
    author_field: options.AuthorFieldOption = None,
    label_field: options.LabelFieldOption = None,
    file_format: options.FormatOption = None,
    encoding: options.EncodingOption = "utf-8",
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
    from sfumato.attacks.attack import Inputs
    from sfumato.core.randomness import Randomness
    from sfumato.files.layout import Layout

    own = _settings(settings, everything=name == ALL)
    if output is not None:
        _ready_for_chart(name, output, overwrite=overwrite)
    given = Inputs(
        target=_existing(target),
        members=members,
        others=others,
        originals=originals,
        canaries=canaries,
        references=tuple(reference),
        cache=None if no_cache else _cache(target, cache),
        layout=Layout(
            field=field, encoding=encoding, author_field=author_field, label_field=label_field
        ),
        file_format=file_format,
    )
    randomness = Randomness.secure() if seed is None else Randomness.reproducible(seed)
    if name == ALL:
        _attack_all(given, randomness, as_json=json)
        return
    chosen = _configure(name, own)
    scores = _score(chosen, given, randomness)
    if output is not None:
        chosen.chart(scores).save(output, overwrite=overwrite)  # type: ignore[attr-defined]
    print_json(scores.as_dict(), indent=2) if json else print_scores(scores)
    if output is not None:
        note(f"the chart is in {output}")


def _settings(given: list[str], *, everything: bool) -> dict[str, object]:
    from sfumato.core.errors import InvalidArgument

    own, of_policies = options.settings_from(given)
    if of_policies:
        raise InvalidArgument(
            "--set takes settings of the attack here: 'sfumato show attacks/NAME'"
        )
    if own and everything:
        raise InvalidArgument("--set is for one attack; 'all' runs each with its own defaults")
    return own


def _existing(target: Path) -> Path:
    from sfumato.core.errors import StorageFailed

    if not target.exists():
        raise StorageFailed(f"there is no {target}; give the folder of a run or a privatized file")
    return target


def _cache(target: Path, chosen: Path | None) -> Path | None:
    """Beside the model and not in its folder, which is meant to be given away."""
    if chosen is not None or not target.is_dir():
        return chosen
    from sfumato.attacks.token_scores import run_around

    whole = target.resolve()
    # Of a model inside a run it is the run that is given away.
    given_away = run_around(whole) or whole
    return given_away.with_name(given_away.name + ".attacks")


def _configure(name: str, settings: dict[str, object]) -> Attack[Any, Any]:
    from sfumato.catalog import find
    from sfumato.core.settings import configure

    made: Attack[Any, Any] = configure(find("attacks", name).load(), settings)
    return made


def _ready_for_chart(name: str, output: Path, *, overwrite: bool) -> None:
    from sfumato.catalog import find
    from sfumato.charts.chart import ready_for
    from sfumato.core.errors import InvalidArgument

    if name == ALL or not hasattr(find("attacks", name).load(), "chart"):
        raise InvalidArgument(f"{name} draws no chart; leave out --output, or take --json")
    ready_for(output, overwrite=overwrite)


def _score(chosen: Attack[Any, Any], given: Inputs, randomness: Randomness) -> Scores:
    from sfumato.attacks.attack import run

    with _bar(chosen.name) as done:
        return run(chosen, given, randomness, done)


def _attack_all(given: Inputs, randomness: Randomness, *, as_json: bool) -> None:
    from sfumato.catalog import entries
    from sfumato.core.errors import BadInput, MissingInput, SfumatoError

    found: list[Scores] = []
    skipped: dict[str, str] = {}
    for place, name in enumerate(entries("attacks")):
        chosen = _configure(name, {})
        lacking = chosen.missing(given)
        if lacking is not None:
            skipped[name] = lacking
            continue
        try:
            found.append(_score(chosen, given, randomness.stream(place)))
        except MissingInput as error:
            skipped[name] = str(error).removeprefix(f"{name}: ")
        except SfumatoError as error:
            skipped[name] = f"failed: {error}"
    if not found:
        reasons = "; ".join(f"{name}: {why}" for name, why in skipped.items())
        raise BadInput(f"no attack could be run on {given.target}. {reasons}")
    if as_json:
        print_json({"attacks": [one.as_dict() for one in found], "skipped": skipped}, indent=2)
        return
    for one in found:
        print_scores(one)
    print_skipped(skipped)


@contextmanager
def _bar(name: str) -> Iterator[Done]:
    from sfumato.core.progress import progress

    with progress(f"attacking: {name}", _STEPS, unit_is_bytes=False) as advance:
        yield lambda reached, whole: advance(_STEPS * reached // max(whole, 1))
