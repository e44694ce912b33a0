"""A masked language model: scores of the token at each place of a text, that place masked.

Any masked language model in a folder. Each row that is read is one text with one place masked, and
a few rows of the same text are read at a time; rows of different texts never are, so no text has
any influence on the scores of another, not even on their last digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.checks import extra
from sfumato.core.errors import BadInput
from sfumato.core.pretrained import quiet, read_network
from sfumato.models.encoder import digest_of_folder
from sfumato.models.places import places_to_read
from sfumato.models.readable_numbers import fit_tokenizer
from sfumato.models.tokenizer import Tokenizer, load_tokenizer

if TYPE_CHECKING:
    from sfumato.core.arrays import Floats

AT_ONCE = 8
_CONTEXT = 512


@dataclass(frozen=True, eq=False)
class Filler:
    """A network and its tokenizer; ``context`` is the most tokens that a row may have.

    ``mask`` is the number of the token that hides a place.
    """

    name: str
    network: Any = field(repr=False)
    tokenizer: Tokenizer = field(repr=False)
    mask: int
    context: int
    digest: str = ""

    @property
    def outputs(self) -> int:
        """How many tokens it has scores for; it may have fewer, or more, than its tokenizer."""
        readable = self.tokenizer.rows or self.tokenizer.size
        return min(self.tokenizer.size, int(self.network.config.vocab_size), readable)

    def score_places(self, tokens: Sequence[int], places: Sequence[int] | None = None) -> Floats:
        """One row of scores for each of these places of a text (all), read without its token."""
        import numpy as np
        import torch

        before, after = self.tokenizer.frame
        row = torch.tensor([*before, *tokens, *after])
        masked = torch.tensor(range(len(tokens)) if places is None else places, dtype=torch.long)
        found = [np.empty((0, int(self.network.config.vocab_size)))]
        # Scores of every token at every place are large, so a few rows are read at once.
        for start in range(0, len(masked), AT_ONCE):
            some = masked[start : start + AT_ONCE] + len(before)
            rows, each = row.repeat(len(some), 1), torch.arange(len(some))
            rows[each, some] = self.mask
            with torch.no_grad():
                scores = self.network(input_ids=rows, attention_mask=torch.ones_like(rows)).logits
            found.append(scores[each, some].double().numpy())
        return np.vstack(found)


def load_filler(folder: Path) -> Filler:
    """A masked language model from a folder; nothing is fetched, and no code of it is run."""
    extra("transformers", needed_for="a masked language model", extra="train")
    with quiet():
        network, missing = read_network("AutoModelForMaskedLM", folder, "a masked language model")
        tokenizer = fit_tokenizer(load_tokenizer(folder), network)
    mask = tokenizer.backend.mask_token_id
    if mask is None:
        raise BadInput(
            f"the tokenizer in {folder} has no mask token: a masked language model is needed, such "
            "as BERT"
        )
    if tokenizer.rows is not None and mask >= tokenizer.rows:
        raise BadInput(
            f"the tokenizer in {folder} has the mask token {mask:,}, and the model has embeddings "
            f"for {tokenizer.rows:,}; take a model that was trained with its mask"
        )
    if missing:
        raise BadInput(
            f"{folder} is no complete masked language model: it lacks weights, among them "
            f"{missing[0]}"
        )
    limit = places_to_read(network, _CONTEXT)
    name = folder.resolve().name
    return Filler(name, network.eval(), tokenizer, int(mask), limit, digest_of_folder(folder))
