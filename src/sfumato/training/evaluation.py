"""Running a trained model over documents, token by token."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from sfumato.corpora.documents import Document
from sfumato.metrics.prediction import Predicted
from sfumato.models.loading import LoadedModel
from sfumato.policies.policy import Policy
from sfumato.training.batches import physical_batches
from sfumato.training.clipping.losses import IGNORED
from sfumato.training.records import Cut, TokenRecords, language_records

TOKENS_AT_ONCE = 4096


def predicted(
    model: LoadedModel, documents: Sequence[Document], done: Callable[[int], None] | None = None
) -> list[Predicted]:
    """−ln p of every token of every document, the token for its end included.

    A document longer than the context is read in pieces, as in training. ``done`` is told how many
    documents are finished.
    """
    records = language_records(documents, model.tokenizer, Cut(context=model.context))
    found: dict[int, dict[int, Predicted]] = {}
    model.network.eval()
    with torch.no_grad():
        for group in physical_batches(
            records, range(len(records)), most_tokens=max(TOKENS_AT_ONCE, records.context)
        ):
            for rows in group:
                logits = model.network(
                    input_ids=rows.input_ids, attention_mask=rows.attention_mask
                ).logits
                _keep(found, logits, rows.labels, rows.owner)
            if done:
                done(len(found))
    return [_joined(records, found.get(record, {}), record) for record in range(len(records))]


def selected_tokens(
    model: LoadedModel, documents: Sequence[Document], policy: Policy
) -> list[NDArray[np.bool_]]:
    """For each document, which of its predicted tokens hold a character that a policy selects."""
    chosen = []
    for document in documents:
        places = model.tokenizer.places(document.text)
        covered = np.zeros(len(document.text) + 1, dtype=np.int64)
        for span in policy.find(document):
            covered[span.start] += 1
            covered[span.end] -= 1
        inside = np.concatenate([[0], np.cumsum(np.cumsum(covered)[:-1] > 0)])
        flags = [bool(inside[end] > inside[start]) for start, end in places]
        if flags and model.tokenizer.end is not None:
            flags.append(False)  # the end of a document is nobody's secret
        if model.tokenizer.begin is None:
            flags = flags[1:]  # the first token is given, not predicted
        chosen.append(np.array(flags, dtype=np.bool_))
    return chosen


def _keep(
    found: dict[int, dict[int, Predicted]],
    logits: torch.Tensor,
    labels: torch.Tensor,
    owner: torch.Tensor,
) -> None:
    for row, record in enumerate(owner.tolist()):
        counted = labels[row] != IGNORED
        scores, wanted = logits[row][counted].double(), labels[row][counted]
        right = (scores.argmax(1) == wanted).numpy()
        losses = scores.logsumexp(1) - scores.gather(1, wanted[:, None])[:, 0]
        pieces = found.setdefault(record, {})
        # Rows of one record come in their order.
        pieces[len(pieces)] = Predicted(losses.numpy(), right)


def _joined(records: TokenRecords, pieces: dict[int, Predicted], record: int) -> Predicted:
    if len(pieces) != len(records.rows_of(record)):
        raise RuntimeError("a row of a document was not evaluated")
    if not pieces:
        return Predicted(np.empty(0), np.empty(0, dtype=np.bool_))
    ordered = [pieces[place] for place in sorted(pieces)]
    return Predicted(
        np.concatenate([one.losses for one in ordered]),
        np.concatenate([one.right for one in ordered]),
    )
