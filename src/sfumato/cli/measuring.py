"""What the commands that measure mechanisms share: words to look at, levels, a progress bar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.options import MOST
from sfumato.cli.output import visible
from sfumato.core.checks import positive
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    from rich.table import Table

    from sfumato.metrics.deniability import Estimate
    from sfumato.metrics.protection import Protection

MechanismArgument = Annotated[
    str, typer.Argument(metavar="M", help="A word mechanism: 'sfumato list mechanisms'.")
]
LevelsOption = Annotated[
    str, typer.Option("--epsilon", "-e", metavar="E,E,…", help="Privacy levels, by commas.")
]
CorpusOption = Annotated[
    str | None,
    typer.Option(
        "--corpus", metavar="FILE", help="Look at the words of this file, not at public ones."
    ),
]
WordsOption = Annotated[
    int,
    typer.Option("--words", min=1, max=MOST, help="How many words are drawn to be measured."),
]
DrawsOption = Annotated[
    int,
    typer.Option("--draws", min=10, max=MOST, help="Draws per word where there are no exact rows."),
]
MeasureSeedOption = Annotated[
    int | None, typer.Option("--seed", help="Measure with the same words and draws again.")
]


OWN_EYES = "this is about the words of your own text or list: it is for your own eyes"


def levels_from(text: str) -> list[float]:
    """Levels, smallest first, each once.

    >>> levels_from("5, 1,10,5")
    [1.0, 5.0, 10.0]
    """
    try:
        given = [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidArgument(
            f"epsilon={text!r} must be numbers, separated by commas, such as 1,5,10"
        ) from None
    return sorted({positive("epsilon", one) for one in given})


def chance(value: float) -> str:
    """A probability for people.

    >>> chance(0.25), chance(0.0004), chance(0.0)
    ('0.250', '4.0e-04', '0.000')
    """
    return f"{value:.1e}" if 0 < value < 0.001 else f"{value:.3f}"


def percent(share: float) -> str:
    """A share in whole per cent.

    >>> percent(0.9)
    '90 %'
    """
    return f"{100 * share:.0f} %"


def with_interval(estimate: Estimate) -> str:
    """A share with its interval; one that is known exactly stands alone."""
    if estimate.draws == 0 and estimate.low == estimate.high:
        return chance(estimate.value)
    return f"{chance(estimate.value)} ({chance(estimate.low)}–{chance(estimate.high)})"


def exposed_table(protection: Protection) -> Table:
    """The least protected words."""
    from rich.table import Table
    from rich.text import Text

    least = "" if protection.exact else "at least "
    table = Table("word", "stays with probability", "outputs (S)", "nearest word", box=None)
    for one in protection.exposed:
        nearest = f"{visible(one.neighbor.word)} at {one.neighbor.distance:.2f}"
        cells = (visible(one.word), with_interval(one.keep), f"{least}{one.outputs:,}", nearest)
        table.add_row(*map(Text, cells))
    return table
