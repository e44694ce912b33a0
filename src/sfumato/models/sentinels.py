"""Sentinels: tokens that stand for a hidden span of a text, as T5 has them.

They are called ``<extra_id_0>``, ``<extra_id_1>``, … A tokenizer of T5's kind has a hundred; to one
for a model from scratch they are added. As all special tokens they are added by number and never
read from a document: one that spells out ``<extra_id_0>`` is encoded as ordinary text.
"""

from __future__ import annotations

import copy
import re
from dataclasses import replace

from sfumato.models.tokenizer import Tokenizer

# As many as T5 has.
COUNT = 100
_NAME = re.compile(r"<extra_id_(\d+)>")


def sentinels_of(tokenizer: Tokenizer) -> tuple[int, ...]:
    """The numbers of a tokenizer's sentinels, the first one first; those without a row are left."""
    found = {}
    for token, number in tokenizer.backend.get_vocab().items():
        named = _NAME.fullmatch(token)
        if named and (tokenizer.rows is None or number < tokenizer.rows):
            found[int(named[1])] = int(number)
    return tuple(found[place] for place in sorted(found))


def with_sentinels(tokenizer: Tokenizer, count: int = COUNT) -> Tokenizer:
    """The tokenizer with sentinels; unchanged if it has some."""
    if sentinels_of(tokenizer):
        return tokenizer
    backend = copy.deepcopy(tokenizer.backend)
    names = [f"<extra_id_{place}>" for place in range(count)]
    backend.add_special_tokens({"additional_special_tokens": names})
    return replace(tokenizer, backend=backend)
