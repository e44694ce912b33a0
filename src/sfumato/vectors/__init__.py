"""Public embedding spaces, and the search for the nearest word in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.vectors.load import default_space as default_space
    from sfumato.vectors.load import load_vectors as load_vectors
    from sfumato.vectors.load import save_vectors as save_vectors
    from sfumato.vectors.space import Space as Space
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.vectors.load": "default_space load_vectors save_vectors",
            "sfumato.vectors.space": "Space",
        },
    )

__all__ = [
    "Space",
    "default_space",
    "load_vectors",
    "save_vectors",
]
