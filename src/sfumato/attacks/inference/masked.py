"""Guessing a word from the words around it, by a masked language model.

Each privatized word is masked and the model says what it expects there; the words around are as
they stand in the privatized text, replaced or not. What the model is sure of was not secret to
begin with: the attack measures how much the *context* gives away, and never looks at the
replacement itself.

Care
    A model fills a mask with one token, so a word that its tokenizer splits is never guessed.

Reference
    Yue et al. 2021 (SanText) and Xu et al. 2020, "mask token inference attack".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.attacks.attack import Done
from sfumato.attacks.inference.attackers import NOBODY
from sfumato.attacks.inference.observed import Observed
from sfumato.core.arrays import Points
from sfumato.core.checks import extra
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.pretrained import quiet, read_network, require_model
from sfumato.core.randomness import Randomness
from sfumato.models.tokenizer import Tokenizer, load_tokenizer
from sfumato.vectors.space import Space

if TYPE_CHECKING:
    from torch import Tensor


# Tokens of context on each side, characters of text that are read for them, and masks at once.
AROUND = 60
CHARACTERS = 600
AT_ONCE = 32


@dataclass(frozen=True, eq=False)
class MaskedModel:
    """A masked language model from a folder, and its tokenizer."""

    network: Any
    tokenizer: Tokenizer
    mask: int

    @classmethod
    def load(cls, folder: Path) -> MaskedModel:
        """Read a model; nothing is fetched and no code of the folder is run."""
        extra("transformers", needed_for="a masked language model", extra="train")
        require_model(folder)
        tokenizer = load_tokenizer(folder)
        if tokenizer.backend.mask_token_id is None:
            raise InvalidArgument(
                f"the tokenizer in {folder} has no mask: a masked language model is needed, such "
                "as one of BERT's kind"
            )
        with quiet():
            network, missing = read_network(
                "AutoModelForMaskedLM", folder, "a masked language model"
            )
        if missing:
            raise BadInput(
                f"{folder} is not a whole masked language model: it lacks weights, among them "
                f"{missing[0]}"
            )
        return cls(network.eval(), tokenizer, int(tokenizer.backend.mask_token_id))

    @cached_property
    def pieces(self) -> list[str]:
        """What each token stands for; empty for one that does not begin a word."""
        backend = self.tokenizer.backend
        special = set(backend.all_special_ids)
        tokens = backend.convert_ids_to_tokens(list(range(self.tokenizer.size)))
        return [
            ""
            if number in special or str(token).startswith("##")
            else str(backend.decode([number]))
            for number, token in enumerate(tokens)
        ]


@dataclass(frozen=True, eq=False)
class Masked:
    """Asks a masked language model what stood at each privatized place."""

    model: MaskedModel

    reads_context: ClassVar[bool] = True
    knowledge: ClassVar[str] = (
        "They do not look at the replacement: a public masked language model tells what fits "
        "into the words around it, as they stand in the privatized text."
    )

    def guesses(
        self,
        observed: Observed,
        count: int,
        randomness: Randomness,  # noqa: ARG002  # every attacker is called alike
        done: Done | None = None,
    ) -> Points:
        """The words of the vocabulary that the model finds likeliest."""
        import torch

        point = self._points(observed.space)
        usable = torch.from_numpy(point >= 0)
        found = np.full((len(observed), count), NOBODY, dtype=np.intp)
        rows = self._rows(observed)
        for start in range(0, len(rows), AT_ONCE):
            some = rows[start : start + AT_ONCE]
            with torch.no_grad():
                scores = self._scores(some)[:, : len(point)]
            scores = scores.masked_fill(~usable, -torch.inf)
            # Several tokens may be one word to the vectors (capitals): look at a few more.
            few = min(3 * count, int(usable.sum()))
            for row, tokens in enumerate(scores.topk(few, dim=1).indices.numpy()):
                named = list(dict.fromkeys(point[tokens].tolist()))[:count]
                found[start + row, : len(named)] = named
            if done:
                done(min(start + AT_ONCE, len(rows)), len(rows))
        return found

    def _points(self, space: Space) -> Points:
        """The word that each token stands for, or ``NOBODY``."""
        points = [space.point_of(piece.strip()) for piece in self.model.pieces]
        return np.array([one if one != space.unknown else NOBODY for one in points], dtype=np.intp)

    def _rows(self, observed: Observed) -> list[tuple[list[int], int]]:
        """For each word the tokens around it with a mask in its place, and where the mask is."""
        before, after = self.model.tokenizer.frame
        texts = _texts(observed)
        left = self.model.tokenizer.encode_many([one for one, _ in texts])
        right = self.model.tokenizer.encode_many([one for _, one in texts])
        rows = []
        for one, other in zip(left, right, strict=True):
            begin = [*before, *one[-AROUND:].tolist()]
            rows.append(([*begin, self.model.mask, *other[:AROUND].tolist(), *after], len(begin)))
        return rows

    def _scores(self, rows: list[tuple[list[int], int]]) -> Tensor:
        import torch

        width = max(len(tokens) for tokens, _ in rows)
        ids = torch.full((len(rows), width), self.model.tokenizer.padding)
        real = torch.zeros((len(rows), width), dtype=torch.long)
        for row, (tokens, _) in enumerate(rows):
            ids[row, : len(tokens)] = torch.tensor(tokens)
            real[row, : len(tokens)] = 1
        logits: Tensor = self.model.network(input_ids=ids, attention_mask=real).logits
        masks = torch.tensor([place for _, place in rows])
        return logits[torch.arange(len(rows)), masks].float()


def _texts(observed: Observed) -> list[tuple[str, str]]:
    """What stands before and after each word, with the outputs that are looked at in place."""
    found: list[tuple[str, str]] = []
    words = observed.space.words
    shown: dict[int, dict[int, str]] = {}
    for (document, index), output in zip(
        observed.places.tolist(), observed.outputs.tolist(), strict=True
    ):
        shown.setdefault(document, {})[index] = words[output]
    for document, changed in shown.items():
        pair = observed.pairs[document]
        pieces: list[str] = []
        for index in range(len(pair.words)):
            pieces += (pair.gap(index), changed.get(index, pair.replacement(index)))
        pieces.append(pair.text[pair.ends[-1] :])
        starts = np.concatenate([[0], np.cumsum([len(piece) for piece in pieces])]).tolist()
        text = "".join(pieces)
        for index in changed:
            start, end = starts[2 * index + 1], starts[2 * index + 2]
            found.append((text[max(0, start - CHARACTERS) : start], text[end : end + CHARACTERS]))
    return found
