"""The tables of the page about SmolLM2, beside those of the thesis."""

from __future__ import annotations

from collections.abc import Iterator

import thesis_figures as thesis
from kept import Figures, number, shown, table
from sfumato.results.row import RANDOM_OUTPUT
from sfumato.statistics.intervals import clopper_pearson
from smdp_smollm2_figures import (
    CAME,
    EXPOSED,
    LEVELS,
    MDP,
    METHODS,
    NAMES,
    NUMBERS,
    OTHER,
    PERPLEXITY,
    PLAIN,
    SECRETS,
    SMDP,
    Place,
    listed,
    ours,
    per_gpt2,
)
from staying import CLEAR, OVERLAP, STAYS


def main_table(found: Figures) -> list[str]:
    """Every method and level."""
    head = (
        *("method", "ε", STAYS, OVERLAP, CLEAR, "perplexity", "per token of GPT-2"),
        *("numbers", "other tokens", "exposure"),
    )
    places = [PLAIN, CAME, *((name, level) for name in METHODS for level in LEVELS)]
    models = [place for place in places if found.point(*place, PERPLEXITY) is not None]
    return table(head, (_line(found, place) for place in models))


def _line(found: Figures, place: Place) -> tuple[str, ...]:
    name, level = place
    # The text of that name is of random words, and no model was trained on it.
    texts = [None if place == CAME else found.point(*place, one) for one in (STAYS, OVERLAP, CLEAR)]
    models = [found.point(*place, one) for one in (PERPLEXITY, NUMBERS, OTHER, EXPOSED)]
    return (
        *(NAMES.get(name, name), "–" if level is None else f"{level:g}"),
        *map(shown, texts),
        *(shown(models[0]), shown(per_gpt2(found, place)), *map(shown, models[1:])),
    )


def below_the_table() -> Iterator[str]:
    """What the columns are."""
    yield (
        "Words that stay are those at the same place as in the original, capitals aside, a mean "
        "over paragraphs; the overlap is that of a paragraph's sets of words before and after. "
        f"Secrets in the clear are the share of the {10 * SECRETS} places of planted secrets at "
        "which these still stand. Numbers are tokens of the test text with a digit. Exposure is "
        f"the rank of a planted secret among 2,000 drawn at random, in bits, a mean over {SECRETS} "
        "secrets. Intervals are at 95 %, over documents and secrets; with one seed they do not "
        "cover what another run would change."
    )


def by_level(found: Figures) -> Iterator[str]:
    """Perplexity and exposure, a line for each level of either."""
    for metric, published, last in (
        (PERPLEXITY, thesis.PERPLEXITY, thesis.NO_NOISE_PERPLEXITY),
        (EXPOSED, thesis.EXPOSURE, thesis.NO_NOISE_EXPOSURE),
    ):
        name = "perplexity per token of GPT-2" if metric == PERPLEXITY else "exposure in bits"
        lines = []
        for level in sorted({*LEVELS, *map(float, thesis.LEVELS)}):
            here = [ours(found, (method, level), metric) for method in (MDP, SMDP)]
            known = [thesis.at(published[method], level) for method in (MDP, SMDP)]
            theirs = ("–" if one is None else f"{one:.2f}" for one in known)
            if any(one is not None for one in (*here, *known)):
                lines.append((f"{level:g}", *map(shown, here), *theirs))
        plain = shown(ours(found, PLAIN, metric))
        lines.append(("no noise", plain, plain, *[f"{last:.2f}"] * 2))
        came = ours(found, CAME, metric)
        if came is not None:
            lines.append((NAMES[RANDOM_OUTPUT], shown(came), shown(came), "–", "–"))
        yield from table((f"ε, {name}", MDP, SMDP, "MDP, thesis", "SMDP, thesis"), lines)
        yield ""
    yield (
        "Figures of the thesis are those of its tables A.2 and A.3 and have no intervals; its text "
        "has 27.22 for MDP at ε = 29. It ranks its one secret among all 1,000,000 (19.9 bits at "
        "most)."
    )


def by_staying(found: Figures) -> Iterator[str]:
    """The same with the share of words that stay in the place of the level."""
    yield (
        "A level is for the distances of one space, and the thesis's has 2.2 million words where "
        "ours has 33,860, so equal levels are not equal noise. What both have is the share of "
        "words that stay under MDP: ours is counted in the training text, the thesis's in the only "
        f"text that it prints, a sample of {thesis.SAMPLE_WORDS} words (table A.1), of which "
        f"{listed([str(one) for one in thesis.SAMPLE_STAYS.values()])} stay at ε = "
        f"{listed([str(one) for one in thesis.SAMPLE_STAYS])}. Factors are perplexities over that "
        "without noise, and have no intervals."
    )
    yield ""
    lines = [*_our_shares(found), *_their_shares()]
    head = ("ε", STAYS, OVERLAP, "factor, MDP", "factor, SMDP")
    yield from table(head, (line for _, line in sorted(lines)))


def _our_shares(found: Figures) -> Iterator[tuple[float, tuple[str, ...]]]:
    plain = per_gpt2(found, PLAIN)
    for level in LEVELS:
        stays = found.point(MDP, level, STAYS)
        if stays is None or plain is None:
            continue
        points = (per_gpt2(found, (name, level)) for name in (MDP, SMDP))
        factors = ("–" if one is None else number(one.value / plain.value) for one in points)
        overlap = shown(found.point(MDP, level, OVERLAP))
        yield stays.value, (f"{level:g}, here", shown(stays), overlap, *factors)


def _their_shares() -> Iterator[tuple[float, tuple[str, ...]]]:
    for level, count in thesis.SAMPLE_STAYS.items():
        low, high = clopper_pearson(count, thesis.SAMPLE_WORDS)
        share = count / thesis.SAMPLE_WORDS
        said = f"{number(share)} ({number(low)} – {number(high)})"
        known = (thesis.at(thesis.PERPLEXITY[name], level) or 0.0 for name in (MDP, SMDP))
        factors = (number(one / thesis.NO_NOISE_PERPLEXITY) for one in known)
        yield share, (f"{level}, thesis", said, "–", *factors)
