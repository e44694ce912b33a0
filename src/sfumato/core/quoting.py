"""Whether a message repeats something that was given.

Messages of this package hold no text, but some name what was given: a policy, a setting, a number.
Where a stranger reads the message, or a log keeps it, even that is too much, for anything may have
been given in the place of a name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterable, Iterator

SHORTEST = 3  # letters that would be recognized
LONG_NUMBER = 6  # digits that may be a telephone number, or an id
_QUOTED = re.compile(r"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")
_NUMBER = re.compile(rf"\d{{{LONG_NUMBER},}}")


def repeats(message: str, given: Iterable[str], known: Container[str] = ()) -> bool:
    """Whether a message holds one of the texts that were given, or quotes a part of one.

    ``known`` are names that anybody may read. Texts are compared without regard to case, as they
    are and as Python writes them; numbers of many digits count as quoted.

    >>> repeats("unknown policy 'ann hale'", ["Ann Hale"])
    True
    >>> repeats("unknown mechanism 'ann'", ["ann:epsilon=5"])
    True
    >>> repeats("unknown policy 'pii '; did you mean 'pii'?", ["a text"])
    False
    """
    said = message.casefold()
    parts = [one for one in _pieces(message) if one not in known]
    for text in given:
        folded = text.casefold()
        whole = len(text) >= SHORTEST and text not in known
        if whole and (folded in said or repr(text)[1:-1].casefold() in said):
            return True
        if any(part.casefold() in folded for part in parts):
            return True
    return False


def _pieces(message: str) -> Iterator[str]:
    """What a message quotes, as it was before Python wrote it, and its long numbers."""
    for found in _QUOTED.findall(message):
        try:
            piece = str(ast.literal_eval(found))
        except (SyntaxError, ValueError):
            piece = found[1:-1]
        if len(piece) >= SHORTEST:
            yield piece
    yield from _NUMBER.findall(message)
