"""The tokens that a model may write where its output must show nothing of what it has read.

Which tokens are possible must not depend on private text: one that is possible for one text only
would rule another out. So they are all tokens of the model, or the most frequent ones of a public
text, with the end of a text among them and no other special token.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from sfumato.core.arrays import Points
from sfumato.core.errors import BadInput
from sfumato.models.writing import Writer
from sfumato.text.document import Document


def public_tokens(
    writer: Writer, public: Iterable[Document] | None = None, size: int | None = None
) -> Points:
    """All tokens, or the ``size`` most frequent ones of a public text, in the order of numbers."""
    tokenizer = writer.tokenizer
    special = set(tokenizer.backend.all_special_ids)
    # A model may have fewer outputs than there are tokens, or more, which mean nothing.
    outputs = min(tokenizer.size, int(writer.network.config.vocab_size))
    found = [one for one in range(outputs) if one not in special]
    if public is not None:
        counts: Counter[int] = Counter()
        for document in public:
            counts.update(map(int, tokenizer.encode(document.text)))
        possible = set(found)
        frequent = [token for token, _ in counts.most_common() if token in possible]
        found = sorted(frequent[:size])
    if tokenizer.end is not None and tokenizer.end < outputs:
        found = sorted({*found, tokenizer.end})
    if len(found) < 2:
        raise BadInput("two tokens at least must be left to write with")
    return np.array(found, dtype=np.intp)
