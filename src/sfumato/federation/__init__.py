"""Federated training: clients train, a server adds up what is bounded, and adds noise once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.federation.averaging import Averaging as Averaging
    from sfumato.federation.averaging import Reply as Reply
    from sfumato.federation.clients import LocalTraining as LocalTraining
    from sfumato.federation.method import Federated as Federated
    from sfumato.federation.server import Server as Server
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.federation.averaging": "Averaging Reply",
            "sfumato.federation.clients": "LocalTraining",
            "sfumato.federation.method": "Federated",
            "sfumato.federation.server": "Server",
        },
    )

__all__ = ["Averaging", "Federated", "LocalTraining", "Reply", "Server"]
