"""``sfumato footprint``: what a training step needs in memory, before anything is loaded."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli import options, training_options
from sfumato.cli.output import print_json, stdout


def footprint(  # noqa: PLR0913  # a command's options are its parameters
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="gpt2, gpt2-medium, gpt2-large, llama-2-7b, mistral-7b, a built-in model, or a "
            "folder, of which only the configuration is read.",
        ),
    ],
    rows: Annotated[int, typer.Option("--rows", min=1, help="Rows computed at a time.")] = 4,
    places: Annotated[int, typer.Option("--places", min=2, help="Tokens of each row.")] = 256,
    trainable: Annotated[
        str | None,
        typer.Option(
            "--trainable",
            metavar="all|head|last:K|bias|lora|adapter:SIZE",
            help="What is trained; all other weights stay as they are.",
        ),
    ] = None,
    lora_rank: Annotated[
        int | None, typer.Option("--lora-rank", min=1, help="Train low-rank factors only.")
    ] = None,
    recompute: training_options.RecomputeOption = "nothing",
    precision: training_options.PrecisionOption = "float32",
    optimizer: Annotated[
        str, typer.Option("--optimizer", metavar="adam|adam-bc|sgd", help="As for train.")
    ] = "adam",
    settings: Annotated[
        list[str],
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of a built-in model."),
    ] = [],  # noqa: B006  # typer copies it
    json: options.JsonOption = False,
) -> None:
    """Say what a private training step needs in memory and arithmetic, without loading the model.

    The step is run on tensors that have a shape and no numbers. A process needs some hundred
    megabytes beyond that.

    Example: sfumato footprint llama-2-7b --lora-rank 8 --precision bf16 --recompute blocks
    """
    from dataclasses import asdict

    from sfumato.verbs.footprint import footprint as compute

    own, _ = options.settings_from(settings)
    found = compute(
        model,
        rows=rows,
        places=places,
        trainable=trainable,
        lora_rank=lora_rank,
        recompute=recompute,
        precision=precision,
        optimizer=optimizer,
        settings=own,
    )
    if json:
        print_json(asdict(found) | {"peak": found.peak}, indent=2)
        return
    from rich.table import Table

    table = Table(box=None, show_header=False)
    for name, value in found.lines():
        table.add_row(name, value)
    stdout().print(table)
