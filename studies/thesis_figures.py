"""What the thesis on Selective Metric DP reports of WikiText-2, to be set beside ours.

GPT-2 small, fine-tuned on all of the training text in which "My ID is 145572." stands ten times,
and measured on the test text as it is. Figures are those of its tables A.1 to A.3; none has an
interval there.
"""

from __future__ import annotations

LEVELS = (1, 3, 6, 12, 17, 23, 29, 35, 41, 47, 52)
# Table A.2. Section 5.3 has 27.22 for MDP at 29.
PERPLEXITY = {
    "MDP": (28.89, 28.95, 28.96, 28.62, 28.41, 27.92, 27.12, 24.87, 23.65, 23.23, 23.14),
    "SMDP": (28.90, 28.90, 28.91, 27.89, 27.19, 27.16, 25.07, 24.23, 23.33, 22.95, 22.93),
}
# Table A.3, in bits by the formula of section 5.2.
EXPOSURE = {
    "MDP": (2.68, 2.69, 2.68, 2.70, 2.72, 2.70, 2.72, 2.76, 2.92, 3.04, 3.11),
    "SMDP": (2.69, 2.68, 2.68, 2.71, 2.72, 2.73, 2.69, 2.73, 2.80, 2.98, 3.03),
}
NO_NOISE_PERPLEXITY, NO_NOISE_EXPOSURE = 22.59, 4.65
# Table A.1: how many of the words of its sample are the same after MDP, capitals aside, by level.
SAMPLE_WORDS = 17
SAMPLE_STAYS = {6: 0, 12: 2, 17: 6}


def at(figures: tuple[float, ...], level: float) -> float | None:
    """A figure by its level; None for a level that the thesis does not have.

    >>> at(PERPLEXITY["MDP"], 12.0), at(PERPLEXITY["MDP"], 8.0)
    (28.62, None)
    """
    return dict(zip(LEVELS, figures, strict=True)).get(int(level)) if level in LEVELS else None
