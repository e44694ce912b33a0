"""A client of the service: what ``sfumato serve`` offers over HTTP, as typed calls of Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.client.answers import AccountState as AccountState
    from sfumato.client.answers import Anonymized as Anonymized
    from sfumato.client.answers import Bill as Bill
    from sfumato.client.answers import Health as Health
    from sfumato.client.answers import MechanismOffer as MechanismOffer
    from sfumato.client.answers import PolicyOffer as PolicyOffer
    from sfumato.client.answers import Preview as Preview
    from sfumato.client.answers import PreviewedWord as PreviewedWord
    from sfumato.client.answers import Released as Released
    from sfumato.client.answers import Replacement as Replacement
    from sfumato.client.calls import Choices as Choices
    from sfumato.client.calls import Client as Client
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.client.answers": (
                "AccountState Anonymized Bill Health MechanismOffer PolicyOffer Preview "
                "PreviewedWord Released Replacement"
            ),
            "sfumato.client.calls": "Choices Client",
        },
    )

__all__ = [
    "AccountState",
    "Anonymized",
    "Bill",
    "Choices",
    "Client",
    "Health",
    "MechanismOffer",
    "PolicyOffer",
    "Preview",
    "PreviewedWord",
    "Released",
    "Replacement",
]
