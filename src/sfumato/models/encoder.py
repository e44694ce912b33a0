"""Vectors of sentences by a transformer in a folder: the mean of its last hidden states.

Care
    In a batch, shorter texts are padded, and products of larger matrices are summed in another
    order: the vector of a text then depends on the others in its last digits. ``encode_alone``
    reads each text by itself, so that no text has any influence on what becomes of another;
    ``encode_together`` is quicker, and is for public text.

    Whether a run fails must not depend on a private text. What is longer than the network reads is
    cut, and the longest row is tried when it is loaded; a vector of a private text that is not
    finite counts as 0, the vector of a text of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.arrays import Floats, Singles
from sfumato.core.checks import extra
from sfumato.core.errors import BadInput
from sfumato.core.pretrained import quiet, read_network
from sfumato.models.places import places_to_read
from sfumato.models.readable_numbers import fit_tokenizer
from sfumato.models.tokenizer import Tokenizer, load_tokenizer

AT_ONCE = 32
# What decides what an encoder gives: its weights, its shape and its tokens.
_DECIDING = ("*.safetensors", "*.json", "vocab.txt", "*.model")
_CONTEXT = 512
# No sentence has more tokens, and the longest row is tried once.
_LONGEST = 2048


@dataclass(frozen=True, eq=False)
class SentenceEncoder:
    """A network and its tokenizer; ``context`` is the most tokens of a text that are read."""

    name: str
    network: Any = field(repr=False)
    tokenizer: Tokenizer = field(repr=False)
    context: int = _CONTEXT
    folder: Path | None = None

    @cached_property
    def digest(self) -> str:
        """A hash of the files that decide what it gives."""
        return digest_of_folder(self.folder) if self.folder is not None else self.name

    def encode_alone(self, texts: Sequence[str]) -> Floats:
        """One row for each text, each computed by itself."""
        rows = [self._encode(self._tokens([text])) for text in texts]
        found = np.vstack(rows) if rows else np.empty((0, 0))
        return np.where(np.isfinite(found).all(axis=1, keepdims=True), found, 0.0)

    def encode_together(self, texts: Sequence[str]) -> Floats:
        """One row for each text, many at once."""
        found = self._encode(self._tokens(texts))
        if not np.isfinite(found).all():
            raise BadInput(f"the encoder {self.name} gave a value that is not finite")
        return found

    @property
    def size(self) -> int:
        """How many numbers a vector has."""
        return int(self.network.config.hidden_size)

    def token_vectors(self, text: str, most: int | None = None) -> Floats:
        """A row for each token of a text, from the table of the network's first layer.

        Such a row depends on its token and on nothing else: no other token, and no place. What
        later layers give does not: there each row has something of all tokens.
        """
        tokens = self.tokenizer.encode_many([text])[0][:most].tolist()
        if not tokens:
            return np.empty((0, self.token_size))
        found: Floats = self.token_table[tokens].astype(np.float64)
        return found

    @property
    def token_size(self) -> int:
        """How many numbers the vector of a token has."""
        return int(self.token_table.shape[1])

    @cached_property
    def token_table(self) -> Singles:
        """The vectors of all tokens; public."""
        table = self.network.get_input_embeddings().weight
        found: Singles = table.detach().float().numpy()
        return found

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        before, after = self.tokenizer.frame
        room = max(1, self.context - len(before) - len(after))
        return [
            [*before, *tokens[:room].tolist(), *after]
            for tokens in self.tokenizer.encode_many(list(texts))
        ]

    def _encode(self, rows: list[list[int]]) -> Floats:
        return pool_states(self.network, rows, self.tokenizer.padding)

    def refuse_unfit(self) -> None:
        """Refuse a network that cannot read as many tokens as it may have to."""
        before, after = self.tokenizer.frame
        one = next(iter((*before, *after)), 0)
        try:
            finite = bool(np.isfinite(self._encode([[one] * self.context])).all())
        except (AttributeError, IndexError, RuntimeError, TypeError, ValueError):
            finite = False
        if not finite:
            raise BadInput(
                f"the transformer {self.name} gives no vectors for a row of {self.context:,} "
                "tokens; is it a whole encoder? Name the folder of another one"
            )


def load_encoder(folder: Path) -> SentenceEncoder:
    """An encoder from the folder of a transformer; nothing is fetched, no code of it is run."""
    extra("transformers", needed_for="a sentence encoder", extra="train")
    with quiet():
        network, _ = read_network("AutoModel", folder, "a transformer")
        tokenizer = fit_tokenizer(load_tokenizer(folder), network)
    network = network.eval()
    limit = min(_LONGEST, places_to_read(network, _CONTEXT))
    encoder = SentenceEncoder(folder.resolve().name, network, tokenizer, limit, folder)
    encoder.refuse_unfit()
    return encoder


def digest_of_folder(folder: Path) -> str:
    """A hash of the weights, configurations and tables of a folder, wherever it lies."""
    whole = sha256()
    for path in sorted({one for kind in _DECIDING for one in folder.glob(kind)}):
        content = sha256()
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                content.update(block)
        whole.update(f"{path.name} {content.hexdigest()}\n".encode())
    return whole.hexdigest()


def pool_states(network: Any, rows: list[list[int]], padding: int) -> Floats:
    """The mean of the last hidden states over the tokens of each row; 0 where there are none."""
    import torch

    parts = []
    for start in range(0, len(rows), AT_ONCE):
        some = rows[start : start + AT_ONCE]
        width = max(1, *(len(row) for row in some)) if len(some) > 1 else max(1, len(some[0]))
        ids = torch.full((len(some), width), padding)
        real = torch.zeros((len(some), width))
        for place, row in enumerate(some):
            ids[place, : len(row)] = torch.tensor(row, dtype=torch.long)
            real[place, : len(row)] = 1
        # The network needs at least one token in each row; the mean of such a row is 0.
        looked = real.clone()
        looked[real.sum(1) == 0, 0] = 1
        with torch.no_grad():
            hidden = network(input_ids=ids, attention_mask=looked.long()).last_hidden_state
        total = (hidden * real[..., None]).sum(1)
        parts.append((total / real.sum(1, keepdim=True).clamp(min=1)).double().numpy())
    return np.vstack(parts) if parts else np.empty((0, 0))
