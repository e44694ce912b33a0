"""Writing a chart: SVG, PNG, HTML that needs no network, or its Vega-Lite description.

Everything is drawn on this machine. A chart that asked for data from elsewhere would be refused:
what is drawn may be private.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.charts.theme import LOOK
from sfumato.core.checks import extra
from sfumato.core.errors import StorageFailed, UnknownName
from sfumato.core.files import refuse_existing, write_whole

if TYPE_CHECKING:
    import altair

# A page's menu must not offer to send the chart to an editor on somebody's server.
_MENU = {"embedOptions": {"actions": {"export": True, "source": False, "editor": False}}}
# Twice the size in points, so that a PNG is sharp on paper and on dense screens.
SCALE = 2.0


@dataclass(frozen=True, eq=False)
class Chart:
    """A Vega-Lite description, with the look of the house."""

    spec: dict[str, Any]

    @classmethod
    def of(cls, drawing: altair.TopLevelMixin) -> Chart:
        """Dress what Altair made."""
        return cls({**drawing.to_dict(), "config": dict(LOOK), "usermeta": _MENU})

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the chart in the format that the name says, whole or not at all."""
        target = Path(path)
        content = self.content(format_of(target))
        refuse_existing(target, overwrite=overwrite)
        try:
            write_whole(target, content)
        except OSError as error:
            raise StorageFailed(f"cannot write {target}: {error.strerror}") from None

    def content(self, name: str) -> bytes:
        """The chart in a format, as it would stand in a file."""
        return _DRAWN[name](self.spec)


def ready_for(path: Path, *, overwrite: bool) -> None:
    """Say before a long run what would stop the chart after it: format, place, missing extra."""
    format_of(path)
    refuse_existing(path, overwrite=overwrite)
    needs_charts()


def needs_charts() -> None:
    """Refuse to start without the libraries that draw."""
    for module in ("altair", "vl_convert"):
        extra(module, needed_for="a chart", extra="charts")


def format_of(path: Path) -> str:
    """The format that a file name asks for.

    >>> format_of(Path("words.SVG"))
    'svg'
    """
    name = path.suffix.lower().removeprefix(".")
    if name not in _DRAWN:
        raise UnknownName("format of charts", path.suffix or path.name, [f".{n}" for n in _DRAWN])
    return name


def _svg(spec: dict[str, Any]) -> bytes:
    import vl_convert

    return vl_convert.vegalite_to_svg(spec, allowed_base_urls=[]).encode()


def _png(spec: dict[str, Any]) -> bytes:
    import vl_convert

    return vl_convert.vegalite_to_png(spec, scale=SCALE, allowed_base_urls=[])


def _html(spec: dict[str, Any]) -> bytes:
    import vl_convert

    return vl_convert.vegalite_to_html(spec, bundle=True).encode()


def _json(spec: dict[str, Any]) -> bytes:
    return (json.dumps(spec, ensure_ascii=False, indent=2) + "\n").encode()


_DRAWN: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "html": _html,
    "json": _json,
    "png": _png,
    "svg": _svg,
}
