"""What the page about SmolLM2 calls things, and its figures per token of GPT-2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpt2_tokens import per_gpt2_token
from kept import Figures
from sfumato.reports.series import SeriesPoint
from sfumato.results.row import NO_PRIVACY, RANDOM_OUTPUT

# The beginnings of articles measured on, as ``gpt2_tokens.py FOLDER test.jsonl`` counts them, and
# an end for each.
DOCUMENTS = 30
GPT2_TOKENS = 20_976 + DOCUMENTS
SECRETS, PARAGRAPHS = 12, 150
PERPLEXITY = "perplexity"
NUMBERS, OTHER = "perplexity, private tokens", "perplexity, other tokens"
EXPOSED = "exposure at 10 repetitions (sampled)"
CHANCE, MOST = 1.44, 10.97  # bits: the mean of a secret that was never planted; log2(2,001)
MDP, SMDP = "MDP", "SMDP"
KEPT = ", unknown words kept"
METHODS = (MDP, SMDP, MDP + KEPT, SMDP + KEPT)
LEVELS = (8.0, 12.0, 17.0, 29.0)
# The anchor "random output" is a model that was not trained on the corpus: SmolLM2 as it came.
NAMES = {NO_PRIVACY: "no noise", RANDOM_OUTPUT: "SmolLM2 as it came"}
Place = tuple[str, float | None]
PLAIN, CAME = (NO_PRIVACY, None), (RANDOM_OUTPUT, None)


def per_gpt2(found: Figures, place: Place) -> SeriesPoint | None:
    """The perplexity per token of GPT-2, with its interval."""
    return ours(found, place, PERPLEXITY)


def ours(found: Figures, place: Place, metric: str) -> SeriesPoint | None:
    """A figure; perplexities per token of GPT-2."""
    point = found.point(*place, metric)
    if point is None or metric != PERPLEXITY:
        return point
    tokens = point.n

    def changed(value: float) -> float:
        return per_gpt2_token(value, tokens, GPT2_TOKENS)

    return replace(
        point,
        value=changed(point.value),
        low=None if point.low is None else changed(point.low),
        high=None if point.high is None else changed(point.high),
        inner=None if point.inner is None else (changed(point.inner[0]), changed(point.inner[1])),
    )


def at_levels(found: Figures, method: str, metric: str) -> dict[float, SeriesPoint]:
    """The figures of a method by level, as far as there are any."""
    points = {level: ours(found, (method, level), metric) for level in LEVELS}
    return {level: point for level, point in points.items() if point is not None}


def listed(some: Sequence[str]) -> str:
    """As a sentence lists things."""
    return " and ".join(filter(None, (", ".join(some[:-1]), *some[-1:])))
