"""A property that a document has or has not, as a user writes it: a word, or a value in a column.

>>> Predicate.read("word:refund"), Predicate.read("country=DE")
(Predicate(word='refund', column='', value=''), Predicate(word='', column='country', value='DE'))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.attack import Inputs
from sfumato.core.errors import InvalidArgument
from sfumato.text.document import Document
from sfumato.text.words import Words

WORD = "word:"


@dataclass(frozen=True)
class Predicate:
    """Documents with a ``word``, whatever its capitals; or with a ``value`` in a ``column``."""

    word: str = ""
    column: str = ""
    value: str = ""

    @classmethod
    def read(cls, written: str) -> Predicate:
        """``word:WORD`` or ``COLUMN=VALUE``."""
        if written.startswith(WORD):
            word = written.removeprefix(WORD)
            if list(Words.of(word)) == [word]:
                return cls(word=word.casefold())
        elif written.partition("=")[0] and written.partition("=")[2]:
            column, _, value = written.partition("=")
            return cls(column=column, value=value)
        raise InvalidArgument(
            f"property={written!r} must be 'word:WORD', for documents in which the word stands, or "
            "'COLUMN=VALUE', for those with that value in a column"
        )

    def holds(self, inputs: Inputs, path: Path, documents: Sequence[Document]) -> NDArray[np.bool_]:
        """Which documents of a file have the property."""
        if self.word:
            return np.array(
                [
                    any(one.casefold() == self.word for one in Words.of(each.text))
                    for each in documents
                ]
            )
        layout = replace(inputs.layout, label_field=self.column, group_field=None)
        read = replace(inputs, layout=layout).documents(path)
        return np.array([one.labels[:1] == (self.value,) for one in read])
