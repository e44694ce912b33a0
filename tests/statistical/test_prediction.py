"""Private prediction draws each token as often as its law says; hotter twins do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.core.randomness import Randomness
from sfumato.synthesis.prediction.law import AverageLaw
from statistical.budget import fits_share, rejects

CHECK, CASE = "synthesis: tokens", "drawn from the law"
DRAWS = 3000
LAW = AverageLaw(tokens=np.arange(5), clip=4.0, prompts=3, temperature=1.5)
SAID = np.array([[0.0, -1.0, -9.0, -2.0, -3.0], [-1.0, 0.0, -1.0, -7.0, -3.0]])


def p_values(law: AverageLaw) -> list[float]:
    """Of two prompts out of three, by the law of ``LAW`` and draws of ``law``."""
    total = LAW.contributions(SAID).sum(axis=0)
    chances = np.exp(LAW.logs(total))
    chances /= chances.sum()
    source = Randomness.reproducible(11)
    drawn = np.array([law.draw(total, source) for _ in range(DRAWS)])
    return [
        fits_share(int((drawn == token).sum()), DRAWS, float(chance))
        for token, chance in enumerate(chances)
    ]


def test_tokens_are_drawn_from_the_law() -> None:
    assert not rejects(CHECK, CASE, p_values(LAW))


def test_twins_half_the_heat_and_fewer_prompts_are_found() -> None:
    assert rejects(CHECK, CASE, p_values(replace(LAW, temperature=0.75)))
    assert rejects(CHECK, CASE, p_values(replace(LAW, prompts=2)))
