"""What private training releases, what that costs, and what has been spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.accounting.accountants import Spent as Spent
    from sfumato.accounting.accountants import compute_spending as compute_spending
    from sfumato.accounting.directional import directional_epsilon as directional_epsilon
    from sfumato.accounting.events import SampledGaussian as SampledGaussian
    from sfumato.accounting.gaussian import gaussian_delta as gaussian_delta
    from sfumato.accounting.gaussian import gaussian_epsilon as gaussian_epsilon
    from sfumato.accounting.ledger import Ledger as Ledger
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.accounting.accountants": "Spent compute_spending",
            "sfumato.accounting.directional": "directional_epsilon",
            "sfumato.accounting.events": "SampledGaussian",
            "sfumato.accounting.gaussian": "gaussian_delta gaussian_epsilon",
            "sfumato.accounting.ledger": "Ledger",
        },
    )

__all__ = [
    "Ledger",
    "SampledGaussian",
    "Spent",
    "compute_spending",
    "directional_epsilon",
    "gaussian_delta",
    "gaussian_epsilon",
]
