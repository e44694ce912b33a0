"""Claims for tests of budgets."""

from __future__ import annotations

from sfumato.accounting.budget import Claim
from sfumato.guarantees.guarantee import LACKS_ONE, Guarantee, Notion


def pure(epsilon: float, *, unit: str = "example") -> Claim:
    return Claim(
        Guarantee(
            notion=Notion.PURE_DP, unit=unit, neighbors=LACKS_ONE.format(unit=unit), epsilon=epsilon
        )
    )


def approximate(epsilon: float, delta: float) -> Claim:
    return Claim(
        Guarantee(
            notion=Notion.APPROXIMATE_DP,
            unit="example",
            neighbors=LACKS_ONE.format(unit="example"),
            epsilon=epsilon,
            delta=delta,
        )
    )


def metric(epsilon: float, about: tuple[str, ...] = ("d1",), words: int = 1) -> Claim:
    return Claim(
        Guarantee(
            notion=Notion.METRIC_DP,
            unit="word",
            neighbors="any two words",
            epsilon=epsilon,
            metric="euclidean",
        ),
        about,
        words,
    )
