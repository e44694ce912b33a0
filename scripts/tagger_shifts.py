"""What is added to the scores of the tagger of ``pii``, by how a word is written.

Training sees many copies in small letters and in capitals, far more than people write, so that the
network also knows names there. It therefore takes too many of the words that people do write in
small letters for names. ``shifts`` says by how much, from text that was held out as it was written:
a softmax regression of the labels on the scores and on the shapes of words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from sfumato.policies.pii.forms import SHAPES
from sfumato.policies.pii.network import KINDS, Network
from sfumato.policies.pii.pieces import READABLE
from sfumato.policies.pii.scorer import score_all
from sfumato.policies.pii.tokens import Tokens
from tagger_corpus import HANDLE, LINK, Text

_SURE = 12.0  # scores beyond tell nothing more
_UNLIKELY = -7.0  # words that are below are no names, however they are written
_USUAL = "title"
_PULL = 1e-4  # toward no shift

Rows = NDArray[np.float32]


def labels_of(tokens: Tokens, texts: Sequence[Text]) -> NDArray[np.int64]:
    """The kind of each token, 0 for none, −1 where nothing is to be learned."""
    labels = np.where(tokens.ids == 0, -1, 0)
    for text, (first, last) in zip(texts, tokens.bounds, strict=True):
        starts = tokens.starts[first:last]
        places = [(*span[:2], KINDS.index(span[2]) + 1) for span in text.spans if span[2] in KINDS]
        rest = (*HANDLE.finditer(text.text), *LINK.finditer(text.text))
        for start, end, label in [*places, *((*match.span(), -1) for match in rest)]:
            begin, stop = np.searchsorted(starts, [start, end])
            labels[first + begin : first + stop] = label
    return labels


class _Trust(torch.nn.Module):
    """A softmax regression on scores by kind, which come first, and on whatever else is known."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scores = torch.nn.Parameter(torch.ones(len(KINDS)))
        self.rest = torch.nn.Parameter(torch.zeros(width - len(KINDS), len(KINDS)))
        self.bias = torch.nn.Parameter(torch.zeros(len(KINDS)))

    def forward(self, known: torch.Tensor) -> torch.Tensor:
        """Scores of no kind and of each kind."""
        kinds = known[:, : len(KINDS)] * self.scores + known[:, len(KINDS) :] @ self.rest
        return torch.cat([torch.zeros_like(kinds[:, :1]), kinds + self.bias], dim=1)

    @classmethod
    def learned(cls, known: Rows, labels: NDArray[np.int64]) -> _Trust:
        """From labeled tokens that the network was not trained on."""
        kept = labels >= 0
        rows, wanted = torch.from_numpy(known[kept]), torch.from_numpy(labels[kept])
        model = cls(known.shape[1])
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=200, history_size=20)

        def close() -> torch.Tensor:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(rows), wanted)
            loss = loss + _PULL * model.rest.square().sum()
            loss.backward()  # type: ignore[no-untyped-call]
            return loss

        optimizer.step(close)  # type: ignore[no-untyped-call]
        return model


def shifts(network: Network, held: dict[str, list[Text]]) -> Rows:
    """What to add to the scores of each kind, by the shape of a word; 0 for one with a capital."""
    shapes = [SHAPES.index(name) for name in READABLE]
    known, labels = [], []
    for texts in held.values():
        tokens = Tokens.of([text.text for text in texts])
        scores = np.clip(score_all(network, tokens), -_SURE, _SURE)
        likely = scores.max(axis=1) > _UNLIKELY
        written = tokens.shape[:, None] == np.array(shapes)
        known.append(np.hstack([scores, written])[likely].astype(np.float32))
        labels.append(labels_of(tokens, texts)[likely])
    trust = _Trust.learned(np.vstack(known), np.concatenate(labels))
    rest = trust.rest.detach().numpy() / trust.scores.detach().numpy()
    found = np.zeros((len(SHAPES), len(KINDS)), dtype=np.float32)
    found[shapes] = np.rint(4 * (rest - rest[READABLE.index(_USUAL)])) / 4 + 0.0  # no minus zero
    for name in READABLE:
        print(f"shift {name:8}", found[SHAPES.index(name)].tolist())
    return found
