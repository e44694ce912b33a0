"""Markup that cannot be injected into: whatever is not ``Html`` is escaped on its way in.

Documents, names of methods, groups and messages may hold anything, also what looks like markup. It
is shown as it stands, and never becomes an element or runs.

Care
    Tags and the names of attributes are ours and checked to be plain names; no attribute that runs
    or fetches something (``on…``, ``src``) can be written, and ``href`` leads inside the page only.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

_NAME = re.compile(r"[a-z][a-z0-9-]*")
_VOID = frozenset({"meta", "br", "hr"})
_NEVER = re.compile(r"on.*|src|srcset|srcdoc|style|action|formaction")


class Html(str):
    """Markup; the only text that goes into a page as it is. ``tag`` and ``escaped`` make it."""

    __slots__ = ()


NOTHING = Html("")


def escaped(text: str) -> Html:
    """Text as it is meant to be read; control characters become symbols.

    >>> escaped("<b>" + chr(0) + "&")
    '&lt;b&gt;␀&amp;'
    """
    if isinstance(text, Html):
        return text
    return Html(html.escape(printable(text), quote=True))


def tag(name: str, attributes: Mapping[str, str], *children: str) -> Html:
    """An element. Children that are not ``Html`` are text.

    >>> tag("p", {"class": "a"}, "1 < 2", tag("b", {}, "!"))
    '<p class="a">1 &lt; 2<b>!</b></p>'
    """
    names = (name, *attributes)
    if name == "script" or not all(_NAME.fullmatch(one) for one in names):
        raise ValueError("no such element may be written")
    if any(_NEVER.fullmatch(one) for one in attributes):
        raise ValueError("no attribute may run or fetch something")
    if not attributes.get("href", "#").startswith("#"):
        raise ValueError("a link must lead inside the page")
    opened = "".join(f' {key}="{escaped(value)}"' for key, value in attributes.items())
    if name in _VOID:
        return Html(f"<{name}{opened}>")
    return Html(f"<{name}{opened}>{joined(children)}</{name}>")


def joined(parts: Iterable[str]) -> Html:
    """Several pieces, one after the other."""
    return Html("".join(escaped(part) for part in parts))


def printable(text: str) -> str:
    """Text without what cannot be printed, on one line unless it has plain line breaks.

    >>> printable("a" + chr(0x2028) + chr(7))
    'a ␇'
    """
    return text.translate(_unprintable())


def data_block(name: str, value: Any) -> Html:
    r"""A value for the page's own script, as JSON that cannot end the element it stands in.

    >>> data_block("x", {"a": "</script>", "b": math.inf})
    '<script type="application/json" id="x">{"a": "\\u003c/script\\u003e", "b": null}</script>'
    """
    if not _NAME.fullmatch(name):
        raise ValueError("not a name")
    # ASCII only: what lies beyond, and what HTML could take for its own, is written as \uXXXX.
    text = json.dumps(_finite(value), ensure_ascii=True, allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Html(f'<script type="application/json" id="{name}">{text}</script>')


def _finite(value: Any) -> Any:
    """JSON has no infinity; a chart draws nothing there."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(one) for one in value]
    return value


@cache
def _unprintable() -> dict[int, str]:
    """What is shown in place of characters that steer, or cannot be written at all."""
    kept = {ord("\n"), ord("\t")}
    low = {code: chr(0x2400 + code) for code in range(32) if code not in kept}
    # Signs that turn the direction would turn what stands beside them, our own figures included.
    turning = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
    high = dict.fromkeys((*range(0x7F, 0xA0), *range(0xD800, 0xE000), *turning), "\ufffd")
    # Separators of lines and paragraphs end a string in scripts, and look like a space.
    return low | high | dict.fromkeys((0x2028, 0x2029), " ")
