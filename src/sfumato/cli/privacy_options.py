"""The options that decide the privacy of training: ``plan`` and ``train`` mean the same by them."""

from __future__ import annotations

from typing import Annotated

import typer

BatchSizeOption = Annotated[
    str,
    typer.Option(
        "--batch-size",
        metavar="N[,N…]",
        help="Units per step on average; 64,128,256 grows in stages of equal length.",
    ),
]
NoiseScheduleOption = Annotated[
    str,
    typer.Option(
        "--noise-schedule",
        metavar="X[,X…]",
        help="How much noise the stages get against each other: 1,0.8,0.6 lets it fall. What they "
        "get in all follows from the level.",
    ),
]
ClippingOption = Annotated[
    str,
    typer.Option(
        "--clipping",
        metavar="fixed|automatic|adaptive",
        help="Cut gradients at the clipping norm, bring all of them near it, or let it follow "
        "their median (which is charged).",
    ),
]
DeltaOption = Annotated[
    str, typer.Option("--delta", help="A number, auto (just below 1/n^1.1) or 1/n, n units.")
]
AccountantOption = Annotated[
    str,
    typer.Option(
        "--accountant", metavar="pld|rdp|pure", help="Who adds up; pld is tighter, rdp quicker."
    ),
]
SamplingOption = Annotated[
    str,
    typer.Option(
        "--sampling",
        metavar="poisson|shuffled",
        help="Secret random batches, or each unit once per epoch (needs more noise).",
    ),
]


def sizes_from(text: str) -> tuple[int, ...]:
    """``--batch-size``."""
    from sfumato.core.errors import InvalidArgument

    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InvalidArgument(
            f"--batch-size={text!r} must be a whole number, or several by commas"
        ) from None


def noise_from(text: str) -> tuple[float, ...]:
    """``--noise-schedule``."""
    from sfumato.core.errors import InvalidArgument

    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InvalidArgument(
            f"--noise-schedule={text!r} must be numbers by commas, such as 1,0.8,0.6"
        ) from None


def delta_from(text: str) -> float | str:
    """``--delta``: a number, or a word that stands for one."""
    try:
        return float(text)
    except ValueError:
        return text
