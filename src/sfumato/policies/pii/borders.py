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
from sfumato.policies.pii.tokens import Tokens

Flags = NDArray[np.bool_]

_BEFORE_SENTENCES = ("empty", "stop", "line", "comma", "quote", "bracket")
_BARS = ("comma", "bracket", "line", "other", "at", "hash")


def closed(tokens: Tokens, person: Flags) -> Flags:
    """Which tokens no name goes over; ``person`` says which would be part of a person's."""
    bars = tokens.among(*_BARS) | tokens.marked(mark("bar"))
    before, after = _blanks(tokens)
    bars |= tokens.marked(mark("hyphen")) & before & after
    bars |= tokens.marked(mark("apostrophe")) & (before | after)
    ended = tokens.among("digits", "ending") | tokens.marked(mark("parts two"))
    joined = np.append(False, tokens.marked(mark("given"))[:-1])
    bars |= person & (ended | (joined & tokens.marked(mark("joins two"))))
    return bars | (tokens.among("stop") & ~_goes_on(tokens, before, after))


def named_never(tokens: Tokens) -> Flags:
    """Which tokens are days, units after a figure, abbreviations of things, or heads of fields.

    So are words such as "What" that have a capital because a sentence begins, and "SYS" before a
    colon where a line begins.
    """
    digits = np.append(False, tokens.among("digits")[:-1])
    headed = np.append(tokens.marked(mark("colon"))[1:], False)
    begins = np.append(True, tokens.among(*_BEFORE_SENTENCES)[:-1])
    never: Flags = tokens.marked(mark("thing")) | (digits & tokens.marked(mark("unit")))
    heads = tokens.marked(mark("ordinary") | mark("head"))
    never |= headed & (heads | (begins & tokens.marked(mark("tag"))))
    return never | (begins & tokens.marked(mark("starter")))


def named_by_others(tokens: Tokens) -> Flags:
    """Which tokens name no place and no organization by themselves.

    Words such as "Techniker" that stand before a name, and ordinary words in a text in capitals.
    """
    shouted = tokens.among("shouted")
    among_shouted = np.append(False, shouted[:-1]) | np.append(shouted[1:], False)
    ordinary: Flags = shouted & among_shouted & tokens.marked(mark("ordinary"))
    return ordinary | tokens.marked(mark("opens"))


def lonely(tokens: Tokens) -> Flags:
    """Which tokens are a whole text of one word in small letters, where nothing tells a name."""
    nothing = tokens.ids == 0
    before, after = np.append(True, nothing[:-1]), np.append(nothing[1:], True)
    lone: Flags = before & after & tokens.among("small")
    return lone


def apart(tokens: Tokens) -> Flags:
    """Which tokens stand farther from the one before than a blank."""
    far: Flags = np.append(False, tokens.starts[1:] - tokens.ends[:-1] > 1)
    return far


def _goes_on(tokens: Tokens, before: Flags, after: Flags) -> Flags:
    """Which full stops stand inside a name: of an initial, of an abbreviation, in "amazon.com"."""
    short = tokens.marked(mark("abbreviated")) | tokens.among("letter")
    last = np.append(False, short[:-1])
    small = np.append(tokens.among("small", "letter")[1:], False)
    one: Flags = tokens.marked(mark("dot")) & ~before
    inside: Flags = one & (last | (~after & small))
    return inside


def _blanks(tokens: Tokens) -> tuple[Flags, Flags]:
    """Whether there is a blank before and after each token, or nothing at all."""
    wide = tokens.starts[1:] != tokens.ends[:-1]
    return np.append(True, wide), np.append(wide, True)
