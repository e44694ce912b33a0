"""Corpora on disk: reading, chunks, and writing each format back as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.files.layout import Layout as Layout
    from sfumato.files.source import Source as Source
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.files.layout": "Layout",
            "sfumato.files.source": "Source",
        },
    )

__all__ = [
    "Layout",
    "Source",
]
