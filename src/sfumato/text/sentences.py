"""The sentences of a text, by a public rule.

A text is cut where a sentence could be inserted (``text/boundaries.py``): after a full stop that
belongs to no abbreviation, and between lines. White space inside a sentence becomes one space, and
what holds no word is no sentence. The rule looks at nothing but the text, so who knows the text
knows its sentences.
"""

from __future__ import annotations

from itertools import pairwise

from sfumato.text.boundaries import boundaries
from sfumato.text.words import Words


def split_sentences(text: str) -> list[str]:
    r"""The sentences of a text, in order.

    >>> split_sentences("Ask Dr. Who.  He knows!\n\n…\nYes")
    ['Ask Dr. Who.', 'He knows!', 'Yes']
    >>> split_sentences(" \n")
    []
    """
    places = sorted({0, len(text), *(one.position for one in boundaries(text))})
    pieces = (" ".join(text[start:end].split()) for start, end in pairwise(places))
    return [piece for piece in pieces if len(Words.of(piece))]
