"""The table of all models of a study of Selective-DPSGD, beside the paper's figures."""

from __future__ import annotations

from collections.abc import Sequence

from kept import Figures, shown, table
from selective_figures import (
    AUC,
    EXPOSED,
    LAST,
    ORDER,
    OTHER,
    PERPLEXITY,
    PRIVATE,
    TOP1,
    Paper,
)

Place = tuple[str, float | None]


def main_table(full: Figures, paper: Paper) -> list[str]:
    """Every method and level."""
    head = (
        *("method", "ε proven", "seeds", "perplexity", "per token of the paper", "private tokens"),
        *("other tokens", "top-1", "exposure, 10 ×", "AUC", "paper: perplexity, top-1, ε"),
    )
    return table(head, (_line(full, place, paper) for place in in_order(full.places())))


def _line(full: Figures, place: Place, paper: Paper) -> tuple[str, ...]:
    name, level = place
    seeds = {run["seed"] for run in full.runs(name, level)}
    metrics = (PRIVATE, OTHER, TOP1, EXPOSED, AUC)
    return (
        name,
        "–" if level is None else f"{level:g}",
        str(len(seeds)),
        shown(full.point(name, level, PERPLEXITY)),
        shown(paper.per_token(full, name, level)),
        *(shown(full.point(name, level, one)) for one in metrics),
        paper.said(name),
    )


def in_order(places: Sequence[Place]) -> list[Place]:
    """Methods in the order of the page; larger levels last."""
    names = (*ORDER, *LAST)
    known = [place for place in places if place[0] in names]
    return sorted(known, key=lambda place: (names.index(place[0]), place[1] or 0.0))
