"""What was aimed at on all of CustomerSim, and whether it was reached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kept import Figures, number, shown
from selective_alone import exposure
from selective_figures import (
    AUC,
    CHANCE,
    CUSTOMERSIM,
    DP_SGD,
    EXPOSED,
    FORMED,
    LARGE_BATCHES,
    LARGEST,
    LEARNED,
    LONGER,
    OURS,
    Paper,
    epochs_of,
)
from sfumato.reports.series import SeriesPoint
from sfumato.results.row import NO_PRIVACY

# More than one in twenty models that know nothing of a secret has.
FEW_BITS = 4.3


def aims(full: Figures, start: Figures, own: Figures) -> Iterator[tuple[str, str, str]]:
    """What was to be reached, what was, and whether it was."""
    plain = CUSTOMERSIM.per_token(full, NO_PRIVACY, None)
    yield "without privacy a perplexity of at most 3.1", shown(plain), reached(plain, most=3.1)
    for name in (OURS, LEARNED, FORMED):
        yield from _aims_of(full, name, plain)
    kinds = (
        (DP_SGD, full, "from random weights"),
        (DP_SGD, start, "from a public start"),
        (LARGE_BATCHES, start, "from a public start"),
    )
    yield from aims_of_dp_sgd(CUSTOMERSIM, kinds, most=12)
    held = own.point(LEARNED, 3.0, EXPOSED)
    for name in (NO_PRIVACY, LONGER):
        single = own.point(name, None, EXPOSED)
        yield (
            "without privacy an exposure above 15 bits for one secret in ten documents of its own, "
            f"after {epochs_of(own, name)} epochs",
            "–" if single is None else exposure(single),
            reached(single, least=15.0),
        )
    near = held is not None and held.value <= FEW_BITS
    yield (
        f"{LEARNED} at ε = 3: at most 4.3 bits for that secret, as chance has in 19 of 20 models",
        "–" if held is None else exposure(held),
        "not computed" if held is None else "reached" if near else "**missed**",
    )
    longer, largest = full.point(LONGER, None, EXPOSED), full.point(LONGER, None, LARGEST)
    yield (
        "without privacy an exposure above 15 bits for 20 secrets planted ten times",
        shown(longer),
        reached(longer, least=15.0),
    )
    yield (
        "without privacy an exposure above 15 bits for the most exposed of all planted secrets",
        "–" if largest is None else number(largest.value),
        reached(largest, least=15.0),
    )


def aims_of_dp_sgd(
    paper: Paper, kinds: Sequence[tuple[str, Figures, str]], most: float
) -> Iterator[tuple[str, str, str]]:
    """What DP-SGD on everything was to reach at each level: its kinds, and where they begin."""
    for name, figures, how in kinds:
        for level in (3.0, 8.0):
            if not figures.asks_for(name, level):
                continue
            point = paper.per_token(figures, name, level)
            aim = f"{name} at ε = {level:g} at most {most:g}, {how}"
            yield aim, shown(point), reached(point, most=most)


def _aims_of(full: Figures, name: str, plain: SeriesPoint | None) -> Iterator[tuple[str, str, str]]:
    ours, auc = CUSTOMERSIM.per_token(full, name, 3.0), full.point(name, 3.0, AUC)
    exposed = full.point(name, 3.0, EXPOSED)
    yield f"{name} at ε = 3 at most 4.5", shown(ours), reached(ours, most=4.5)
    yield f"{name}: below the paper's 10.42", shown(ours), reached(ours, most=10.42)
    ratio = None if plain is None or ours is None else ours.value / plain.value
    yield (
        f"{name}: at most 1.5 times that without privacy",
        "–" if ratio is None else number(ratio),
        "not computed" if ratio is None else "reached" if ratio <= 1.5 else "**missed**",
    )
    near = exposed is not None and (exposed.low or 0.0) <= CHANCE <= (exposed.high or 0.0)
    yield (
        f"{name}: an exposure near chance (1.44 in its interval)",
        shown(exposed),
        "not computed" if exposed is None else "reached" if near else "**missed**",
    )
    inside = auc is not None and abs(auc.value - 0.5) <= 0.03
    yield (
        f"{name}: an AUC of membership within 0.5 ± 0.03",
        shown(auc),
        "not computed" if auc is None else "reached" if inside else "**missed**",
    )


def reached(
    point: SeriesPoint | None, *, most: float | None = None, least: float | None = None
) -> str:
    """Whether a figure, not its interval, is where it was aimed at."""
    if point is None:
        return "not computed"
    fine = (most is None or point.value <= most) and (least is None or point.value >= least)
    return "reached" if fine else "**missed**"
