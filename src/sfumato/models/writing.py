"""A language model that writes: scores of the next token for several documents, step by step.

Any causal or encoder-decoder model in a folder. What was computed for the tokens so far is kept, so
a token costs one step. Rows of a batch are padded on the left, with masks and positions that leave
the padding out, so a row is read as it would be by itself, up to the last digits of its scores:
sums over larger matrices are rounded in another order.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.checks import extra
from sfumato.core.pretrained import quiet, read_config, read_network
from sfumato.models.encoder import digest_of_folder
from sfumato.models.places import places_to_read, places_to_write
from sfumato.models.readable_numbers import fit_tokenizer
from sfumato.models.tokenizer import Tokenizer, load_tokenizer

if TYPE_CHECKING:
    from torch import Tensor

    from sfumato.core.arrays import Floats

_CONTEXT = 512


@dataclass(frozen=True, eq=False)
class Writer:
    """A network and its tokenizer; ``context`` is the most tokens that a row may have.

    ``longest`` is the most tokens that a decoder can write; those of a causal model stand in the
    row that it reads.
    """

    name: str
    network: Any = field(repr=False)
    tokenizer: Tokenizer = field(repr=False)
    context: int
    digest: str = ""
    longest: int = sys.maxsize

    @property
    def reads_apart(self) -> bool:
        """Whether an encoder reads the text, and a decoder writes another one."""
        return bool(self.network.config.is_encoder_decoder)

    @property
    def outputs(self) -> int:
        """How many tokens it has scores for; it may have fewer, or more, than its tokenizer."""
        readable = self.tokenizer.rows or self.tokenizer.size
        return min(self.tokenizer.size, int(self.network.config.vocab_size), readable)

    def begin(self, rows: Sequence[Sequence[int]], *, width: int = 0) -> Writing:
        """Read some rows of tokens, none of them empty, each padded to ``width`` at least."""
        filled = max(width, *map(len, rows))
        return _Apart(self, rows, filled) if self.reads_apart else _Onwards(self, rows, filled)


def load_writer(folder: Path) -> Writer:
    """A writer from a folder; nothing is fetched, and no code of the folder is run."""
    extra("transformers", needed_for="a language model that writes", extra="train")
    apart = bool(getattr(read_config(folder), "is_encoder_decoder", False))
    kind = "AutoModelForSeq2SeqLM" if apart else "AutoModelForCausalLM"
    with quiet():
        network, _ = read_network(kind, folder, "a language model that writes")
        tokenizer = fit_tokenizer(load_tokenizer(folder), network)
    limit = places_to_read(network, _CONTEXT)
    longest = (places_to_write(network) if apart else None) or sys.maxsize
    name = folder.resolve().name
    return Writer(name, network.eval(), tokenizer, limit, digest_of_folder(folder), longest)


class Writing:
    """What was read so far; ``scores`` are those of the next token, one row per document."""

    scores: Floats

    def step(self, tokens: Sequence[int]) -> None:
        """Read one more token of each document."""
        raise NotImplementedError


class _Onwards(Writing):
    """A causal model goes on after the text."""

    def __init__(self, writer: Writer, rows: Sequence[Sequence[int]], width: int) -> None:
        import torch

        padding = writer.tokenizer.padding
        ids = torch.tensor([[padding] * (width - len(row)) + list(row) for row in rows])
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
        self._network, self._mask, self._state = writer.network, mask, None
        named = inspect.signature(writer.network.forward).parameters
        self._places = "position_ids" in named
        # A document's first token is at place 0, wherever the padding has put it.
        self._read(ids, (mask.cumsum(1) - 1).clamp(min=0))

    def step(self, tokens: Sequence[int]) -> None:
        import torch

        ids = torch.tensor(list(tokens))[:, None]
        self._mask = torch.cat([self._mask, torch.ones_like(ids)], 1)
        self._read(ids, self._mask.sum(1, keepdim=True) - 1)

    def _read(self, ids: Tensor, places: Tensor) -> None:
        import torch

        more = {"position_ids": places} if self._places else {}
        with torch.no_grad():
            output = self._network(
                input_ids=ids,
                attention_mask=self._mask,
                past_key_values=self._state,
                use_cache=True,
                **more,
            )
        self._state = output.past_key_values
        self.scores = output.logits[:, -1].double().numpy()


class _Apart(Writing):
    """An encoder reads the text once, a decoder writes."""

    def __init__(self, writer: Writer, rows: Sequence[Sequence[int]], width: int) -> None:
        import torch

        padding = writer.tokenizer.padding
        ids = torch.tensor([[*row, *[padding] * (width - len(row))] for row in rows])
        self._network = writer.network
        self._mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
        with torch.no_grad():
            self._read = writer.network.get_encoder()(input_ids=ids, attention_mask=self._mask)
        self._state: Any = None
        told = (writer.network.config, getattr(writer.network, "generation_config", None))
        starts = (getattr(one, "decoder_start_token_id", None) for one in told)
        start = next((one for one in starts if one is not None), padding)
        self.step([int(start)] * len(rows))

    def step(self, tokens: Sequence[int]) -> None:
        import torch

        with torch.no_grad():
            output = self._network(
                encoder_outputs=self._read,
                attention_mask=self._mask,
                decoder_input_ids=torch.tensor(list(tokens))[:, None],
                past_key_values=self._state,
                use_cache=True,
            )
        self._state = output.past_key_values
        self.scores = output.logits[:, -1].double().numpy()
