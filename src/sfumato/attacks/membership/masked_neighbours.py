"""Neighbours of a text from a masked language model.

A word's input embedding loses most of its coordinates, so that the model knows roughly what stood
there, and is asked what could stand there. Over all words that are one token, the replacements
with the largest p(new) / (1 − p(old)) are taken, each in a text of its own.

Care
    The model is run on this machine and must be in a folder: nothing is fetched.

Reference
    Mattern et al. 2023, "Membership inference attacks against language models via neighbourhood
    comparison"; Zhou et al. 2019, "BERT-based lexical substitution", for the dropout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.attacks.membership.candidates import spread
from sfumato.attacks.membership.neighbours import NEAREST, spelled_like
from sfumato.core.checks import extra
from sfumato.core.errors import BadInput
from sfumato.core.pretrained import read_network
from sfumato.core.randomness import Randomness
from sfumato.corpora.words import Words

if TYPE_CHECKING:
    from torch import Tensor

    from sfumato.tokenizers.tokenizer import Tokenizer

DROPPED = 0.7
ROWS_AT_ONCE = 32


@dataclass(frozen=True, eq=False)
class MaskedModel:
    """A network that fills blanks, its tokenizer, and the most tokens it reads."""

    network: Any
    tokenizer: Tokenizer
    context: int


def load_masked(folder: Path) -> MaskedModel:
    """A masked language model from a folder."""
    extra("transformers", needed_for="neighbours from a masked language model", extra="train")
    from sfumato.models.inspection import context_of, is_causal
    from sfumato.models.quiet import quiet
    from sfumato.tokenizers.loading import load_tokenizer

    tokenizer = load_tokenizer(folder)
    with quiet():
        network, _ = read_network("AutoModelForMaskedLM", folder, "a masked language model")
    if is_causal(network.eval()):
        raise BadInput(
            f"{folder} cannot be used as a masked language model (it reads from left to right only)"
        )
    return MaskedModel(network, tokenizer, context_of(network, tokenizer))


def from_masked_model(
    texts: Sequence[str], model: MaskedModel, count: int, randomness: Randomness
) -> list[list[str]]:
    """At most ``count`` neighbours of each text."""
    return [_of_text(text, model, count, randomness) for text in texts]


def _of_text(text: str, model: MaskedModel, count: int, randomness: Randomness) -> list[str]:
    before, after = model.tokenizer.frame
    room = model.context - len(before) - len(after)
    words, places = Words.of(text), model.tokenizer.places(text)[:room]
    single = _single_tokens(words, places)
    chosen = spread(sorted(single), count)
    if not chosen:
        return []
    tokens = [*before, *model.tokenizer.encode(text)[:room].tolist(), *after]
    found: list[tuple[float, int, str]] = []
    for start in range(0, len(chosen), ROWS_AT_ONCE):
        some = chosen[start : start + ROWS_AT_ONCE]
        at = [single[word] + len(before) for word in some]
        for word, row, place in zip(some, _filled(model, tokens, at, randomness), at, strict=True):
            found += _suitable(model, row, tokens[place], words[word], word)
    best = sorted(found, key=lambda one: -one[0])[:count]
    return [words.replaced([word], [new]).text for _, word, new in best]


def _single_tokens(words: Words, places: Sequence[tuple[int, int]]) -> dict[int, int]:
    """The words that are one token, with the token's place."""
    starts = {start: place for place, (start, end) in enumerate(places) if end > start}
    found = {}
    for word in range(len(words)):
        # A token may begin with the space before its word.
        for start in (words.starts[word], words.starts[word] - 1):
            place = starts.get(start)
            if place is not None and places[place][1] == words.ends[word]:
                found[word] = place
    return found


def _filled(
    model: MaskedModel, tokens: list[int], at: list[int], randomness: Randomness
) -> list[Tensor]:
    """What the model would put at each place, its embedding there mostly dropped."""
    import torch

    rows = torch.tensor([tokens] * len(at))
    with torch.no_grad():
        embedded = model.network.get_input_embeddings()(rows).clone()
        width = embedded.shape[-1]
        kept = torch.from_numpy(randomness.uniform(len(at) * width) >= DROPPED).view(-1, width)
        for row, place in enumerate(at):
            embedded[row, place] *= kept[row] / (1 - DROPPED)
        logits = model.network(inputs_embeds=embedded).logits
    return [logits[row, place].float().softmax(0) for row, place in enumerate(at)]


def _suitable(
    model: MaskedModel, shares: Tensor, old: int, original: str, word: int
) -> list[tuple[float, int, str]]:
    best = shares.topk(min(4 * NEAREST, len(shares)))
    rest = max(1e-9, 1.0 - float(shares[old]))
    found = []
    for share, token in zip(best.values.tolist(), best.indices.tolist(), strict=True):
        said = model.tokenizer.decode([token]).strip()
        whole = list(Words.of(said)) == [said]
        if token != old and whole and said.casefold() != original.casefold():
            found.append((share / rest, word, spelled_like(said, original)))
    return found[:NEAREST]
