"""The beginnings of documents, cut into what the attacker knows and what he wants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.corpora.documents import Document
from sfumato.tokenizers.tokenizer import Tokenizer


@dataclass(frozen=True, eq=False)
class Windows:
    """The first tokens of different documents, one row each, and how many documents begin so."""

    tokens: NDArray[np.int64]
    copies: NDArray[np.int64]
    prefix: int
    too_short: int

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def suffixes(self) -> NDArray[np.int64]:
        """What the attacker wants."""
        return self.tokens[:, self.prefix :]


@dataclass(frozen=True, kw_only=True)
class Cutting:
    """How long the two parts are, in tokens, and how many documents are looked at."""

    prefix: int
    suffix: int
    most: int


def cut(
    documents: Sequence[Document], tokenizer: Tokenizer, cutting: Cutting, randomness: Randomness
) -> Windows:
    """The beginnings of those documents that are long enough; of many, a random part."""
    length = cutting.prefix + cutting.suffix
    rows = tokenizer.encode_many([document.text for document in documents])
    # Documents that begin alike are one case with several copies: repetition is what is studied.
    counts = Counter(row[:length].astype(np.int64).tobytes() for row in rows if len(row) >= length)
    if not counts:
        raise BadInput(
            f"none of the {len(documents):,} documents has {length} tokens; take shorter parts, "
            "such as --set prefix=10 --set suffix=10"
        )
    kept = list(counts)
    if len(kept) > cutting.most:
        kept = [kept[place] for place in randomness.choose(len(kept), cutting.most).tolist()]
    return Windows(
        tokens=np.stack([np.frombuffer(one, dtype=np.int64) for one in kept]),
        copies=np.array([counts[one] for one in kept], dtype=np.int64),
        prefix=cutting.prefix,
        too_short=sum(len(row) < length for row in rows),
    )
