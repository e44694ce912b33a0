"""Markup that is safe from injection: every text that is not ``Html`` is escaped.

Documents, groups, messages and names of methods may contain anything, including what looks like
markup. It is shown as text; it never becomes an element and never runs.

Care
    Tags and the names of attributes come from sfumato's own code and are checked to be plain names.
    Attributes that run or fetch something (``on…``, ``src``) cannot be written, and ``href`` can
    only link inside the page.
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
    """Markup: the only text that enters a page unescaped. ``tag`` and ``escape`` make it."""

    __slots__ = ()


NOTHING = Html("")


def escape(text: str) -> Html:
    """Markup that shows a text; control characters become symbols.

    >>> escape("<b>" + chr(0) + "&")
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
    opened = "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())
    if name in _VOID:
        return Html(f"<{name}{opened}>")
    return Html(f"<{name}{opened}>{join(children)}</{name}>")


def join(parts: Iterable[str]) -> Html:
    """Several pieces as one; those that are text are escaped."""
    return Html("".join(escape(part) for part in parts))


def printable(text: str) -> str:
    """Text without unprintable characters; of line breaks only plain ones remain.

    >>> printable("a" + chr(0x2028) + chr(7))
    'a ␇'
    """
    return text.translate(_unprintable())


def data_block(name: str, value: Any) -> Html:
    r"""A value for the page's own script, as JSON that cannot close its element.

    >>> data_block("x", {"a": "</script>", "b": math.inf})
    '<script type="application/json" id="x">{"a": "\\u003c/script\\u003e", "b": null}</script>'
    """
    if not _NAME.fullmatch(name):
        raise ValueError("not a name")
    # ASCII only: other characters, and those with a meaning in HTML, are written as \uXXXX.
    text = json.dumps(_finite(value), ensure_ascii=True, allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Html(f'<script type="application/json" id="{name}">{text}</script>')


def _finite(value: Any) -> Any:
    """Replace infinities, which JSON lacks, by null; a chart draws nothing there."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(one) for one in value]
    return value


@cache
def _unprintable() -> dict[int, str]:
    """Replacements for control characters and for characters that cannot be encoded."""
    kept = {ord("\n"), ord("\t")}
    low = {code: chr(0x2400 + code) for code in range(32) if code not in kept}
    # Characters that change the direction of text would also affect the text beside them.
    turning = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
    high = dict.fromkeys((*range(0x7F, 0xA0), *range(0xD800, 0xE000), *turning), "\ufffd")
    # Separators of lines and paragraphs end a string in scripts, and look like a space.
    return low | high | dict.fromkeys((0x2028, 0x2029), " ")
