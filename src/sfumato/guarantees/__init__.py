"""What is proven about an output, in one sentence; and what was measured, kept apart from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.guarantees.bound import EmpiricalBound as EmpiricalBound
    from sfumato.guarantees.guarantee import Guarantee as Guarantee
    from sfumato.guarantees.guarantee import Notion as Notion
    from sfumato.guarantees.guarantee import metric_dp as metric_dp
    from sfumato.guarantees.guarantee import no_guarantee as no_guarantee
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.guarantees.bound": "EmpiricalBound",
            "sfumato.guarantees.guarantee": "Guarantee Notion metric_dp no_guarantee",
        },
    )

__all__ = [
    "EmpiricalBound",
    "Guarantee",
    "Notion",
    "metric_dp",
    "no_guarantee",
]
