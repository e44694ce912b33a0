"""What the pages about Selective-DPSGD say of planted secrets."""

from __future__ import annotations

from collections.abc import Iterator

from kept import Figures, number, shown
from selective_figures import (
    AUC,
    CHANCE,
    EXPOSED,
    LARGEST,
    LEARNED,
    LONGER,
    OURS,
    epochs_of,
    largest_by_chance,
)
from sfumato.reports.series import SeriesPoint
from sfumato.results.row import NO_PRIVACY, RANDOM_OUTPUT


def about_secrets(full: Figures, guessed_there: str) -> Iterator[str]:
    """How exposed they are, and whether they are told from others, as the paper does of some."""
    rows, planted = [], 0
    for name, level, said in _models(full):
        mean, largest = full.point(name, level, EXPOSED), full.point(name, level, LARGEST)
        if mean is not None and largest is not None:
            rows.append(f"{shown(mean)} {said} ({_largest(largest)})")
            planted = largest.n
    if rows:
        yield (
            f"**Secrets that were planted ten times** have an exposure of {', '.join(rows)}. "
            f"A secret that was never planted has {CHANCE} on average, the largest of {planted} "
            f"such has {largest_by_chance(planted):.1f}, and 19.9 is the most: most of the "
            f"{planted} were planted once."
        )
    guessed = [
        f"{shown(point)} {said}"
        for name, level, said in _models(full)
        if name != RANDOM_OUTPUT and (point := full.point(name, level, AUC)) is not None
    ]
    if guessed:
        yield (
            "**Whether a secret was planted**, once mostly, is guessed from the model's loss with "
            f"an AUC of {', '.join(guessed)}; 0.5 is a coin toss. The paper guesses "
            f"{guessed_there}, which is another question."
        )


def _models(full: Figures) -> Iterator[tuple[str, float | None, str]]:
    """The models that sentences speak of, and what they are called there."""
    for name, how in (
        (LONGER, "without privacy after {} epochs"),
        (NO_PRIVACY, "without privacy after {} epochs"),
    ):
        yield name, None, how.format(epochs_of(full, name))
    yield OURS, 3.0, "with Selective-DPSGD at ε = 3"
    yield LEARNED, 3.0, "with forms that are learned"
    yield RANDOM_OUTPUT, None, "in models that were never trained"


def _largest(point: SeriesPoint) -> str:
    several = f", mean of {point.seeds} seeds" if point.seeds > 1 else ""
    return f"the largest of {point.n}{several}: {number(point.value)}"
