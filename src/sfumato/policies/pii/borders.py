"""Where a name cannot go on, and which words are none, whatever the network says of them.

A name goes over no end of a sentence, no line break or tab, no colon, equals sign, bracket, comma
or double quote, and not over two blanks. The full stop of an initial or of "Dr" is no end of a
sentence. Nobody's name holds a figure, and only small words such as "van" stand inside one. Days of
the week, units after a figure, a few abbreviations and what forms call things name nobody.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.policies.pii.forms import mark
from sfumato.policies.pii.tokens import Tokens, is_shape

Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

_BEFORE_SENTENCES = ("empty", "stop", "line", "comma", "quote", "bracket")
_BARS = ("comma", "bracket", "line", "other", "at", "hash")


class Beside:
    """Tokens at some places, none of them empty, with what stands beside each.

    There are empty tokens after every text, so each token has one before it and one after it; the
    last token of all is the one before the first.
    """

    def __init__(self, tokens: Tokens, places: Places) -> None:
        before, after = places - 1, places + 1
        self.here = _Some(tokens, places)
        self.before, self.after = _Some(tokens, before), _Some(tokens, after)
        starts, ends = tokens.starts, tokens.ends
        self.blank_before: Flags = (places == 0) | (starts[places] != ends[before])
        self.blank_after: Flags = starts[after] != ends[places]


class _Some:
    """The shapes and marks of some tokens."""

    def __init__(self, tokens: Tokens, places: Places) -> None:
        self._shape, self._mark = tokens.shape[places], tokens.mark[places]

    def among(self, *names: str) -> Flags:
        return is_shape(*names)[self._shape]

    def marked(self, *names: str) -> Flags:
        bits = sum(mark(name) for name in names)
        found: Flags = (self._mark & np.uint32(bits)) != 0
        return found


def closed(near: Beside, person: Flags | None = None) -> Flags:
    """Which tokens no name goes over; ``person`` says which would be part of a person's."""
    here, before, after = near.here, near.blank_before, near.blank_after
    bars = here.among(*_BARS) | here.marked("bar")
    bars |= here.marked("hyphen") & before & after
    bars |= here.marked("apostrophe") & (before | after)
    if person is not None:
        ended = here.among("digits", "ending") | here.marked("parts two")
        bars |= person & (ended | (near.before.marked("given") & here.marked("joins two")))
    return bars | (here.among("stop") & ~_goes_on(near))


def named_never(near: Beside) -> Flags:
    """Which tokens are days, units after a figure, abbreviations of things, or heads of fields.

    So are words such as "What" that have a capital because a sentence begins, and "SYS" before a
    colon where a line begins.
    """
    here, begins = near.here, near.before.among(*_BEFORE_SENTENCES)
    never: Flags = here.marked("thing") | (near.before.among("digits") & here.marked("unit"))
    heads = here.marked("ordinary", "head")
    never |= near.after.marked("colon") & (heads | (begins & here.marked("tag")))
    return never | (begins & here.marked("starter"))


def named_by_others(near: Beside) -> Flags:
    """Which tokens name no place and no organization by themselves.

    Words such as "Techniker" that stand before a name, and ordinary words in a text in capitals.
    """
    among_shouted = near.before.among("shouted") | near.after.among("shouted")
    here = near.here
    ordinary: Flags = here.among("shouted") & among_shouted & here.marked("ordinary")
    return ordinary | here.marked("opens")


def lonely(near: Beside) -> Flags:
    """Which tokens are a whole text of one word in small letters, where nothing tells a name."""
    alone: Flags = near.before.among("empty") & near.after.among("empty")
    return alone & near.here.among("small")


def _goes_on(near: Beside) -> Flags:
    """Which full stops stand inside a name: of an initial, of an abbreviation, in "amazon.com"."""
    short = near.before.marked("abbreviated") | near.before.among("letter")
    small = near.after.among("small", "letter")
    one: Flags = near.here.marked("dot") & ~near.blank_before
    inside: Flags = one & (short | (~near.blank_after & small))
    return inside
