"""How probable a model finds every token of a text: measured once, used by all attacks.

For each predicted token three numbers are kept: ln p of the token, and the mean and the standard
deviation of ln p over the whole vocabulary at that place (Min-K%++ needs them). Documents are read
as in training: from their beginning, in pieces if they are longer than the context.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.attack import Done
from sfumato.attacks.model_target import ModelTarget
from sfumato.attacks.score_store import ScoreStore
from sfumato.core.errors import BadInput
from sfumato.corpora.documents import Document

if TYPE_CHECKING:
    from torch import Tensor

    from sfumato.models.loading import LoadedModel

DOCUMENTS_AT_ONCE = 256

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class TokenScores:
    """One document: for each predicted token ln p, and mean and deviation of ln p at its place."""

    log_probability: Floats
    mean: Floats
    deviation: Floats

    def __len__(self) -> int:
        return len(self.log_probability)

    @property
    def loss(self) -> float:
        """Mean −ln p; of a document without a token it is not a number."""
        if not len(self):
            return float("nan")
        return float(-self.log_probability.mean(dtype=np.float64))

    @property
    def total(self) -> float:
        """The sum of ln p."""
        return float(self.log_probability.sum(dtype=np.float64))


def token_scores(
    target: ModelTarget,
    documents: Sequence[Document],
    store: ScoreStore | None = None,
    done: Done | None = None,
) -> list[TokenScores]:
    """Scores of all documents, from the store where they have been measured before.

    What is new is put into the store every few hundred documents, so a run that was stopped goes on
    where it was.
    """
    store = ScoreStore() if store is None else store
    texts = [document.text for document in documents]
    todo = [text for text in dict.fromkeys(texts) if not store.has(target.digest, text)]
    # Texts of a length together, so that little is padded.
    todo.sort(key=len)
    for start in range(0, len(todo), DOCUMENTS_AT_ONCE):
        some = todo[start : start + DOCUMENTS_AT_ONCE]
        store.add(target.digest, some, _measured(target.model, some))
        if done:
            done(min(start + DOCUMENTS_AT_ONCE, len(todo)), len(todo))
    return [TokenScores(*store.get(target.digest, text)) for text in texts]


def _measured(model: LoadedModel, texts: Sequence[str]) -> list[tuple[Floats, Floats, Floats]]:
    from sfumato.training.evaluation import each_row
    from sfumato.training.records import Cut, language_records

    if not any(model.tokenizer.places(text) for text in reversed(texts)):
        return [_joined([]) for _ in texts]
    documents = [Document(text) for text in texts]
    records = language_records(documents, model.tokenizer, Cut(context=model.context))
    found: dict[int, list[tuple[Floats, Floats, Floats]]] = {}
    for record, logits, labels in each_row(model, records):
        found.setdefault(record, []).append(of_row(logits, labels))
    return [_joined(found.get(record, [])) for record in range(len(records))]


def of_row(logits: Tensor, labels: Tensor) -> tuple[Floats, Floats, Floats]:
    """The labels' ln p, and the mean and deviation of ln p over the vocabulary, where one is."""
    from sfumato.training.clipping.losses import IGNORED

    real = labels != IGNORED
    logs = logits[real].float().log_softmax(1)
    chosen = logs.gather(1, labels[real][:, None])[:, 0]
    if chosen.isnan().any():
        # As a text without evidence it would look harmless.
        raise BadInput("the model gives no finite numbers; its training may have diverged")
    shares = logs.exp()
    # An impossible token has ln p = −inf and weight 0; the product is 0, not NaN.
    finite = logs.clamp(min=-1e4)
    mean = (shares * finite).sum(1)
    deviation = (shares * (finite - mean[:, None]).square()).sum(1).sqrt()
    return chosen.numpy(), mean.numpy(), deviation.numpy()


def _joined(pieces: list[tuple[Floats, Floats, Floats]]) -> tuple[Floats, Floats, Floats]:
    if not pieces:
        empty = np.empty(0, dtype=np.float32)
        return empty, empty, empty
    first, second, third = (np.concatenate(part) for part in zip(*pieces, strict=True))
    return first, second, third
