"""The tokens that a model may write where its output must show nothing of what it has read.

Which tokens are possible must not depend on private text: one that is possible for one text only
would rule another out. So they are all tokens of the model, or the most frequent ones of a public
text, and of special tokens one alone that is named, such as the end of a text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from sfumato.core.arrays import Points
from sfumato.core.errors import BadInput
from sfumato.text.document import Document

if TYPE_CHECKING:
    from sfumato.models.tokenizer import Tokenizer


class ScoringModel(Protocol):
    """A model in a folder with scores for tokens."""

    @property
    def name(self) -> str:
        """The name of its folder."""
        ...

    @property
    def digest(self) -> str:
        """A hash of its files."""
        ...

    @property
    def tokenizer(self) -> Tokenizer:
        """Its tokenizer."""
        ...

    @property
    def outputs(self) -> int:
        """How many tokens it has scores for."""
        ...


def public_tokens(
    model: ScoringModel,
    also: int | None,
    public: Iterable[Document] | None = None,
    size: int | None = None,
) -> Points:
    """All tokens, or the ``size`` most frequent ones of a public text, in the order of numbers.

    ``also`` is the one special token that may be written, such as the end of a text.
    """
    tokenizer = model.tokenizer
    special = set(tokenizer.backend.all_special_ids)
    found = [one for one in range(model.outputs) if one not in special]
    if public is not None:
        counts: Counter[int] = Counter()
        for document in public:
            counts.update(map(int, tokenizer.encode(document.text)))
        possible = set(found)
        frequent = [token for token, _ in counts.most_common() if token in possible]
        found = sorted(frequent[:size])
    if also is not None and also < model.outputs:
        found = sorted({*found, also})
    if len(found) < 2:
        raise BadInput("two tokens at least must be left to write with")
    return np.array(found, dtype=np.intp)
