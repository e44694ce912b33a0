"""The HTTP service: what the command line does, for programs and for the studio page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.service.app import make_app as make_app
    from sfumato.service.settings import Limits as Limits
    from sfumato.service.settings import ServiceSettings as ServiceSettings
    from sfumato.service.tokens import Right as Right
    from sfumato.service.tokens import Tokens as Tokens
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.service.app": "make_app",
            "sfumato.service.settings": "Limits ServiceSettings",
            "sfumato.service.tokens": "Right Tokens",
        },
    )

__all__ = ["Limits", "Right", "ServiceSettings", "Tokens", "make_app"]
