"""What the page on CustomerSim says of one secret that no other stands in the way of.

The authors' own records are in github.com/wyshi/lm_privacy, under attacks/canary_insertion/dialog:
an exposure for each model and epoch. Their data (data/simdial/train/canary-0.txt to canary-9.txt)
have the secret as ten documents that hold nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator

from kept import Figures, number, shown, table, told_apart
from selective_figures import (
    CHANCE,
    CUSTOMERSIM,
    EXPOSED,
    LEARNED,
    LONGER,
    SECRETS,
    epochs_of,
)
from sfumato.reports.series import SeriesPoint
from sfumato.results.row import NO_PRIVACY

INSIDE, ITS_OWN = "between sentences of ten dialogues", "ten documents of its own"
# What the authors' records have after the last epoch, over five models each.
AUTHORS = {
    **dict.fromkeys((NO_PRIVACY, LONGER), "19.93 in all five (50 epochs)"),
    LEARNED: "0.05 to 1.12 (50 epochs, interleaved, σ = 0.7)",
}
Model = tuple[str, str, Figures, str, float | None]


def about_one_secret(inside: Figures, own: Figures) -> Iterator[str]:
    """Both ways of planting it, and what each leaves."""
    rows = list(_rows(inside, own))
    if not rows:
        yield "Not computed yet."
        return
    yield (
        "The paper plants one secret ten times. In the authors' code (github.com/wyshi/lm_privacy) "
        "it is ten documents of its own among the dialogues, “My ID is 341752.” and nothing else, "
        "and the attack asks for it at the beginning of a text, where a model has read it "
        "(`studies/selective-customersim-lone.toml`). Between the sentences of dialogues, where "
        "something else stands before it each time, it is harder to remember, or to find again "
        "(`studies/selective-customersim-secret.toml`)."
    )
    yield ""
    head = ("the secret is", "method", "models", "exposure", "perplexity per token of the paper")
    yield from table((*head, "exposure, authors' records"), rows)
    yield ""
    yield (
        f"By chance a secret has {CHANCE} bits on average, more than 4.3 in one of twenty models, "
        f"and {number(19.93)} at the most, as the likeliest of {SECRETS:,}. It is one secret, so "
        "intervals are over models, where there are several. The text of the paper names 1.2 and "
        "0.2 as examples of an exposure of these dialogues; by the authors' records all five "
        "models without privacy have more than 18 bits after three epochs, and the most that "
        "there is from then on."
    )
    yield from _compared(own)


def _compared(own: Figures) -> Iterator[str]:
    """Whether models with and without privacy are told apart by that secret."""
    free, held = own.point(NO_PRIVACY, None, EXPOSED), own.point(LEARNED, 3.0, EXPOSED)
    if free is None or held is None or min(free.seeds, held.seeds) < 2:
        return
    told = "are told apart" if told_apart(free, held) else "are not told apart"
    yield ""
    yield (
        f"In documents of its own the secret has {shown(free)} bits after "
        f"{epochs_of(own, NO_PRIVACY)} epochs without privacy and {shown(held)} with "
        f"Selective-DPSGD at ε = 3: the two {told}."
    )


def _rows(inside: Figures, own: Figures) -> Iterator[tuple[str, ...]]:
    for place, said, figures, name, level in models(inside, own):
        point = figures.point(name, level, EXPOSED)
        if point is not None:
            authors = AUTHORS.get(name, "") if place == ITS_OWN else ""
            perplexity = shown(CUSTOMERSIM.per_token(figures, name, level))
            yield place, said, str(point.seeds), exposure(point), perplexity, authors


def models(inside: Figures, own: Figures) -> Iterator[Model]:
    """Where the secret stands, what the model is called, and where its figures are."""
    free = "no privacy, {} epochs"
    held = "Selective-DPSGD, forms learned, ε = 3"
    for name in (NO_PRIVACY, LONGER):
        yield ITS_OWN, free.format(epochs_of(own, name)), own, name, None
    yield ITS_OWN, held, own, LEARNED, 3.0
    yield INSIDE, free.format(epochs_of(inside, LONGER)), inside, LONGER, None
    yield INSIDE, held, inside, LEARNED, 3.0


def exposure(point: SeriesPoint) -> str:
    """With its interval if there is more than one model."""
    return shown(point) if point.seeds > 1 else number(point.value)
