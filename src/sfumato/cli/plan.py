"""``sfumato plan``: how much noise a private training run needs, without training."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import options, training_options
from sfumato.cli.output import note, print_json, stdout
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    from rich.table import Table

    from sfumato.training.plan import Plan
    from sfumato.training.spending import AccountantRow


def plan(  # noqa: PLR0913  # a command's options are its parameters
    examples: Annotated[
        int, typer.Option("--examples", "--units", help="How many examples (or authors) there are.")
    ],
    batch_size: training_options.BatchSizeOption,
    epochs: Annotated[float, typer.Option("--epochs", help="Passes over the data.")],
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", "-e", help="The level to keep; inf: no privacy.")
    ] = None,
    noise_multiplier: Annotated[
        float | None,
        typer.Option(
            "--noise-multiplier",
            help="Instead of --epsilon: what level it gives. A schedule is multiplied by it.",
        ),
    ] = None,
    noise_schedule: training_options.NoiseScheduleOption = "1",
    clipping: training_options.ClippingOption = "fixed",
    delta: training_options.DeltaOption = "auto",
    accountant: training_options.AccountantOption = "pld",
    sampling: training_options.SamplingOption = "auto",
    unit: Annotated[
        str, typer.Option("--unit", metavar="example|author", help="Who or what is protected.")
    ] = "example",
    neighbors: Annotated[
        str,
        typer.Option(
            "--neighbors",
            metavar="add-or-remove|replacement",
            help="One unit is missing, or exchanged for another.",
        ),
    ] = "add-or-remove",
    json: options.JsonOption = False,
) -> None:
    """Say how much noise keeps a level of privacy, or what level some noise gives.

    With several batch sizes, or a schedule of noise, training has stages of equal length, and every
    step is charged as it is.

    Example: sfumato plan --examples 5056 --batch-size 128 --epochs 30 --epsilon 8
    """
    from sfumato.training.plan import quietly
    from sfumato.training.spending import compare_accountants

    with quietly():  # the cautions are printed below
        made = make_plan(
            {
                "examples": examples,
                "batch_size": batch_size,
                "epochs": epochs,
                "epsilon": epsilon,
                "noise_multiplier": noise_multiplier,
                "noise_schedule": noise_schedule,
                "clipping": clipping,
                "delta": delta,
                "accountant": accountant,
                "sampling": sampling,
                "unit": unit,
                "neighbors": neighbors,
            }
        )
        rows = compare_accountants(made, epsilon)
    for caution in made.cautions():
        note(f"warning: {caution}")
    print_json(_as_dict(made, rows), indent=2) if json else _print(made, rows)


def make_plan(given: Mapping[str, Any]) -> Plan:
    """The plan that options describe."""
    from sfumato.verbs.plan import plan as make

    read: dict[str, Callable[[Any], Any]] = {
        "batch_size": training_options.sizes_from,
        "noise_schedule": training_options.noise_from,
        "delta": training_options.delta_from,
    }
    values = {name: read[name](one) if name in read else one for name, one in given.items()}
    return make(**values)


def described_plan(written: str) -> Plan:
    """The plan that the options of this command describe, in one text."""
    import shlex

    app = typer.Typer(add_completion=False)
    app.command("plan")(plan)
    try:
        words = shlex.split(written)
    except ValueError:
        raise InvalidArgument("the options of a plan hold a quote that does not end") from None
    with typer.main.get_command(app).make_context("plan", words) as context:
        given = dict(context.params)
    del given["json"]
    return make_plan(given)


def _as_dict(made: Plan, rows: tuple[AccountantRow, ...]) -> dict[str, Any]:
    from dataclasses import asdict

    from sfumato.accounting.reconstruction import PRIORS
    from sfumato.core.json import write_number

    guarantee = made.guarantee()
    return {
        "noise_multiplier": made.noise_multiplier,
        "steps": made.steps,
        "epsilon": write_number(made.epsilon()),
        "delta": made.delta,
        "sampling_rate": max(stage.batch_size for stage in made.stages) / made.units,
        "stages": [
            asdict(stage) | {"sampling_rate": stage.batch_size / made.units}
            for stage in made.stages
        ],
        "cautions": list(made.cautions()),
        "rebuilt": [{"prior": one, "at_most": made.most_rebuilt(one)} for one in PRIORS],
        "comparison": [row.as_dict() for row in rows],
        "plan": made.as_dict(),
        "guarantee": guarantee.as_dict(),
        "sentence": guarantee.sentence(),
    }


def _print(made: Plan, rows: tuple[AccountantRow, ...]) -> None:
    from rich.table import Table

    console = stdout()
    summary = Table(box=None, show_header=False)
    for name, value in (
        *_stage_rows(made),
        ("epsilon", _show(made.epsilon())),
        ("delta", _show(float(made.delta))),
    ):
        summary.add_row(name, value)
    console.print(summary)
    table = Table("accountant", "delta", "epsilon", "noise multiplier", "", box=None)
    for row in rows:
        table.add_row(
            row.name,
            _show(row.delta),
            _show(row.epsilon),
            _show(row.noise_multiplier),
            row.remark,
        )
    console.print()
    console.print(table)
    if made.private:
        console.print()
        console.print(_rebuilt(made))
    console.print()
    console.print(made.guarantee().sentence(), markup=False)


def _rebuilt(made: Plan) -> Table:
    """What the level means for somebody who guesses."""
    from rich.table import Table

    from sfumato.accounting.reconstruction import PRIORS

    table = Table(
        f"a secret of one {made.unit}, guessed without the model",
        "with the model, at most",
        box=None,
    )
    for prior in PRIORS:
        table.add_row(f"once in {round(1 / prior):,}", _often(made.most_rebuilt(prior)))
    return table


def _often(chance: float) -> str:
    """A probability for people, never rounded down.

    >>> _often(0.5), _often(0.034), _often(0.0001)
    ('50 % of the time', '3.4 % of the time', 'once in 10,000')
    """
    if chance >= 0.01:
        return f"{math.ceil(chance * 1000 - 1e-9) / 10:g} % of the time"
    return f"once in {math.floor(1 / chance + 1e-6):,}"


def _stage_rows(made: Plan) -> Iterator[tuple[str, str]]:
    several = len(made.stages) > 1
    if several or made.clipping.kind != "fixed":
        yield "clipping", made.clipping.kind
    if several:
        yield "least noise multiplier", _show(made.noise_multiplier)
        yield "steps in all", f"{made.steps:,}"
    for number, stage in enumerate(made.stages, start=1):
        if several:
            yield f"stage {number}", ""
        yield "noise multiplier", _show(stage.noise_multiplier)
        yield "steps", f"{stage.steps:,}"
        size = f"{stage.batch_size:,} of {made.units:,} {made.unit}s ({made.sampling.name})"
        yield "batch size", size


def _show(value: float | None) -> str:
    from sfumato.guarantees.wording import at_most

    # Never rounded down: less noise, a smaller level or delta would promise too much.
    return "–" if value is None else at_most(value)
