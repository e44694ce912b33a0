"""What the pages about Selective-DPSGD call things, and how its figures are reckoned.

A perplexity per token of the paper is the same loss of the whole text, shared by the tokens that
the paper's code counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gpt2_tokens import per_gpt2_token
from kept import Figures
from sfumato.reports.series import SeriesPoint
from sfumato.results.row import NO_PRIVACY, RANDOM_OUTPUT

PERPLEXITY, PRIVATE, OTHER = "perplexity", "perplexity, private tokens", "perplexity, other tokens"
TOP1 = "accuracy"
EXPOSED = "exposure at 10 repetitions"
LARGEST = "largest exposure"
AUC = "auc secrets"
CHANCE = 1.44  # bits that a secret has on average that was never planted
# How many secrets were planted ten times, of how many that there could be.
PLANTED, SECRETS = 20, 1_000_000
OURS, LONGER = "Selective-DPSGD", "no privacy, longer"
DP_SGD, LARGE_BATCHES = "DP-SGD", "DP-SGD, large batches"
LARGER_STEPS = "DP-SGD, larger steps"
FILLED, MASKED = "made-up values alone", "masks alone"
FORMED, LEARNED = f"{OURS}, forms known", f"{OURS}, forms learned"
ORDER = (
    *(NO_PRIVACY, LONGER, OURS, LEARNED, FORMED, f"{OURS}, masks"),
    *("twice", "interleaved", DP_SGD, LARGE_BATCHES, LARGER_STEPS),
)
LAST = (FILLED, MASKED, RANDOM_OUTPUT)


def epochs_of(full: Figures, method: str) -> str:
    """How often a model that was trained without noise has read the dialogues.

    >>> stages = [{"steps": 20, "batch_size": 16}]
    >>> run = {"method": "m", "level": None, "units": 80, "stages": stages}
    >>> epochs_of(Figures({"runs": [run]}), "m")
    '4'
    """
    passes = {
        sum(stage["steps"] * stage["batch_size"] for stage in run["stages"]) / run["units"]
        for run in full.runs(method, None)
    }
    return " to ".join(f"{one:.0f}" for one in sorted(passes))


def largest_by_chance(count: int) -> float:
    """The mean of the largest of so many exposures, if the model knows none of the secrets.

    >>> round(largest_by_chance(1), 2), round(largest_by_chance(420), 1)
    (1.44, 9.5)
    """
    return sum(1 / one for one in range(1, count + 1)) / math.log(2)


def most_together(count: int) -> float:
    """The mean exposure of so many secrets that are the likeliest of all.

    >>> round(most_together(1), 1), round(most_together(20), 1)
    (19.9, 16.9)
    """
    return sum(math.log2(SECRETS / rank) for rank in range(1, count + 1)) / count


# What Table 2 prints of a method: perplexity, top-1, ε (None without privacy).
Published = tuple[float, float, float | None]


@dataclass(frozen=True)
class Paper:
    """What the paper has of one corpus: its tokens of the text measured on, and its figures."""

    tokens: int
    published: Mapping[str, Published]

    def per_token(self, full: Figures, method: str, level: float | None) -> SeriesPoint | None:
        """Our perplexity per token of the paper, with its interval."""
        point = full.point(method, level, PERPLEXITY)
        if point is None:
            return None
        value, low, high = (
            None if one is None else per_gpt2_token(one, point.n, self.tokens)
            for one in (point.value, point.low, point.high)
        )
        return replace(point, value=value or 0.0, low=low, high=high, inner=None)

    def said(self, method: str) -> str:
        """Its figures of a method, for a table."""
        figures = self.published.get(method, ())
        return ", ".join("–" if one is None else f"{one:g}" for one in figures)


# What the paper's code predicts of the 1,000 dialogues measured on (``gpt2_tokens --speakers SYS:
# USR:``): all tokens but the first of each, and its end.
CUSTOMERSIM = Paper(
    103_410 - 1_000 + 1_000,
    {
        NO_PRIVACY: (3.06, 0.75, None),
        DP_SGD: (11.82, 0.70, 2.51),
        LARGE_BATCHES: (11.82, 0.70, 2.51),
        "interleaved": (10.42, 0.69, 2.74),
        OURS: (10.42, 0.69, 2.74),
    },
)
# All of GPT-2's tokens of the 2,185 paragraphs measured on (``wikitext_words``) but the first of
# each, and its end.
WIKITEXT2 = Paper(
    281_253 - 2_185 + 2_185,
    {
        NO_PRIVACY: (60.98, 0.36, None),
        DP_SGD: (305.86, 0.27, 4.89),
        LARGE_BATCHES: (305.86, 0.27, 4.89),
        LARGER_STEPS: (305.86, 0.27, 4.89),
        "interleaved": (160.04, 0.31, 4.91),
        LEARNED: (160.04, 0.31, 4.91),
    },
)
