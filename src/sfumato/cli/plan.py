"""``sfumato plan``: how much noise a private training run needs, without training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import options
from sfumato.cli.output import note, print_json, stdout

if TYPE_CHECKING:
    from sfumato.training.comparison import Row
    from sfumato.training.plan import Plan

# Beyond these, squares of it or of its reciprocal are no numbers any more; 0 is no noise.
COMPUTABLE_NOISE = 1e-30, 1e30


def plan(  # noqa: PLR0913  # a command's options are its parameters
    examples: Annotated[
        int, typer.Option("--examples", "--units", help="How many examples (or authors) there are.")
    ],
    batch_size: Annotated[
        int, typer.Option("--batch-size", help="How many take part in a step, on average.")
    ],
    epochs: Annotated[float, typer.Option("--epochs", help="Passes over the data.")],
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", "-e", help="The level to keep; inf: no privacy.")
    ] = None,
    noise_multiplier: Annotated[
        float | None,
        typer.Option("--noise-multiplier", help="Instead of --epsilon: what level it gives."),
    ] = None,
    delta: Annotated[
        str,
        typer.Option("--delta", help="A number, auto (just below 1/n^1.1) or 1/n, n units."),
    ] = "auto",
    accountant: Annotated[
        str, typer.Option("--accountant", metavar="pld|rdp|pure", help="Who does the sums.")
    ] = "pld",
    sampling: Annotated[
        str,
        typer.Option(
            "--sampling",
            metavar="poisson|shuffled",
            help="Secret random batches, or each example once per epoch (nothing gained).",
        ),
    ] = "poisson",
    unit: Annotated[
        str, typer.Option("--unit", metavar="example|author", help="Who or what is protected.")
    ] = "example",
    neighbours: Annotated[
        str,
        typer.Option(
            "--neighbours",
            metavar="add-or-remove|replacement",
            help="One unit is missing, or exchanged for another.",
        ),
    ] = "add-or-remove",
    json: options.JsonOption = False,
) -> None:
    """Say how much noise keeps a level of privacy, or what level some noise gives.

    Example: sfumato plan --examples 5056 --batch-size 128 --epochs 30 --epsilon 8
    """
    import math

    from sfumato.core.checks import at_least, between, positive
    from sfumato.core.errors import InvalidArgument
    from sfumato.training.comparison import compared
    from sfumato.training.plan import Plan, quietly
    from sfumato.training.sampling import sampling as sampling_named
    from sfumato.training.stages import Stage

    if (epsilon is None) == (noise_multiplier is None):
        raise InvalidArgument("give either --epsilon or --noise-multiplier")
    if epsilon is not None and epsilon != math.inf:
        positive("epsilon", epsilon)
    if noise_multiplier and math.isfinite(noise_multiplier) and noise_multiplier > 0:
        between("noise_multiplier", noise_multiplier, *COMPUTABLE_NOISE)
    way = sampling_named(sampling)
    steps = way.steps(
        at_least("examples", examples, 2),
        at_least("batch_size", batch_size, 1),
        positive("epochs", epochs),
    )
    noise = 1.0 if noise_multiplier is None else noise_multiplier
    with quietly():  # the cautions are printed below
        made = Plan(
            units=examples,
            stages=(Stage(steps=steps, batch_size=batch_size, noise_multiplier=noise),),
            delta=_number_or_word(delta),
            unit=unit,
            neighbours=neighbours,
            sampling=way,
            accountant=accountant,
        )
        if epsilon is not None:
            made = made.with_epsilon(epsilon)
        rows = compared(made, epsilon)
    for caution in made.cautions():
        note(f"warning: {caution}")
    print_json(_as_dict(made, rows), indent=2) if json else _print(made, rows)


def _number_or_word(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _as_dict(made: Plan, rows: tuple[Row, ...]) -> dict[str, Any]:
    guarantee = made.guarantee()
    return {
        "noise_multiplier": made.noise_multiplier,
        "steps": made.steps,
        "epsilon": _finite(made.epsilon()),
        "delta": made.delta,
        "sampling_rate": made.stages[0].batch_size / made.units,
        "cautions": list(made.cautions()),
        "comparison": [row.as_dict() for row in rows],
        "plan": made.as_dict(),
        "guarantee": guarantee.as_dict(),
        "sentence": guarantee.sentence(),
    }


def _finite(level: float) -> float | str:
    return "inf" if level == float("inf") else level


def _print(made: Plan, rows: tuple[Row, ...]) -> None:
    from rich.table import Table

    console = stdout()
    stage = made.stages[0]
    summary = Table(box=None, show_header=False)
    for name, value in (
        ("noise multiplier", _shown(made.noise_multiplier)),
        ("steps", f"{made.steps:,}"),
        (
            "batch size",
            f"{stage.batch_size:,} of {made.units:,} {made.unit}s ({made.sampling.name})",
        ),
        ("epsilon", _shown(made.epsilon())),
        ("delta", f"{made.delta:g}"),
    ):
        summary.add_row(name, value)
    console.print(summary)
    table = Table("accountant", "delta", "epsilon", "noise multiplier", "", box=None)
    for row in rows:
        table.add_row(
            row.name,
            f"{row.delta:g}",
            _shown(row.epsilon),
            _shown(row.noise_multiplier),
            row.remark,
        )
    console.print()
    console.print(table)
    console.print()
    console.print(made.guarantee().sentence(), markup=False)


def _shown(value: float | None) -> str:
    from sfumato.accounting.solving import rounded_up

    # Never rounded down: less noise or a smaller level would promise too much.
    return "–" if value is None else f"{rounded_up(value):.6g}"
