"""How the result of an attack is shown to a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sfumato.cli.output import stdout

if TYPE_CHECKING:
    from rich.table import Table

    from sfumato.attacks.scores import Scores
    from sfumato.metrics.prediction import Measured


def print_scores(scores: Scores) -> None:
    """Figures beside chance, the control below them, then what to know."""
    console = stdout()
    console.print(f"{scores.attack} ({scores.seconds:.1f} s)", style="bold", markup=False)
    console.print(_table(scores.figures, scores.chance))
    console.print(f"\nnull control — {scores.control.what}:", markup=False)
    console.print(_table(scores.control.figures, scores.chance))
    console.print()
    for sentence in (scores.knowledge, *scores.notes):
        console.print(sentence, markup=False)
    console.print()


def print_skipped(skipped: Mapping[str, str]) -> None:
    """What was not run, and what it needs."""
    console = stdout()
    if skipped:
        console.print("not run:", markup=False)
    for name, why in skipped.items():
        console.print(f"  {name}: {why}", markup=False)


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
