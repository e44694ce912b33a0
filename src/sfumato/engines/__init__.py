"""Where work is done: in processes of this machine, or by actors of a Ray cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.engines.engine import Engine as Engine
    from sfumato.engines.engine import choose_engine as choose_engine
    from sfumato.engines.local import LocalEngine as LocalEngine
    from sfumato.engines.on_ray import RayEngine as RayEngine
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.engines.engine": "Engine choose_engine",
            "sfumato.engines.local": "LocalEngine",
            "sfumato.engines.on_ray": "RayEngine",
        },
    )

__all__ = ["Engine", "LocalEngine", "RayEngine", "choose_engine"]
