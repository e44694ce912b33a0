"""Neighbors of a text: texts that differ from it in one word.

A model finds a member more probable than its neighbors; a text that is merely easy has easy
neighbors. The signal is the mean loss of the neighbors minus the loss of the text.

From vectors
    At words spread evenly over the text, one word is replaced by its nearest, second nearest, …
    word in the embedded public vectors, with the capitals of the original. So the same text always
    has the same neighbors, and their scores are found in the cache. A text without a known word has
    no neighbors, and gets a neutral score.

From a masked language model
    Most coordinates of a word's input embedding are dropped, so that the model knows only roughly
    what the word was, and the model predicts the word. Over all words that are one token, the
    replacements with the largest p(new) / (1 − p(old)) are taken, each in a text of its own.

Care
    Neighbors are as private as the text. They are kept in memory and scored like it. The masked
    language model runs on this machine and must be in a folder: nothing is downloaded.

Reference
    Mattern et al. 2023, "Membership inference attacks against language models via neighborhood
    comparison", with a masked language model; Zhou et al. 2019, "BERT-based lexical substitution",
    for the dropout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.membership.candidates import spread
from sfumato.core.checks import extra
from sfumato.core.errors import BadInput
from sfumato.core.pretrained import read_network
from sfumato.core.randomness import Randomness
from sfumato.text.words import Words
from sfumato.vectors.space import Space

if TYPE_CHECKING:
    from torch import Tensor

    from sfumato.models.tokenizer import Tokenizer


# The most replacements for one word; words that are farther away are not similar.
NEAREST = 16
WORDS_AT_ONCE = 256
DROPPED = 0.7
ROWS_AT_ONCE = 32


def from_vectors(texts: Sequence[str], space: Space, count: int) -> list[list[str]]:
    """At most ``count`` neighbors of each text."""
    segmented = [Words.of(text) for text in texts]
    places = [_known(words, space, count) for words in segmented]
    wanted = {words[place] for words, some in zip(segmented, places, strict=True) for place in some}
    nearest = near_words(sorted(wanted), space)
    found = []
    for words, some in zip(segmented, places, strict=True):
        pairs = (
            (place, nearest[words[place]][rank])
            for rank in range(NEAREST)
            for place in some
            if rank < len(nearest[words[place]])
        )
        chosen = [pair for pair, _ in zip(pairs, range(count), strict=False)]
        found.append([words.replaced([place], [word]).text for place, word in chosen])
    return found


def spell_like(word: str, original: str) -> str:
    """The word with capitals like those of the original.

    >>> spell_like("madrid", "Paris"), spell_like("nato", "UN"), spell_like("cat", "dog")
    ('Madrid', 'NATO', 'cat')
    """
    if original.isupper() and len(original) > 1:
        return word.upper()
    return word.capitalize() if original[:1].isupper() else word


def _known(words: Words, space: Space, count: int) -> list[int]:
    known = [place for place, word in enumerate(words) if space.point_of(word) != space.unknown]
    return spread(known, count)


def near_words(words: Sequence[str], space: Space) -> dict[str, list[str]]:
    """The nearest words of each word that the space has, spelled like it, nearest first."""
    points = space.points(words)
    found: dict[str, list[str]] = {}
    for start in range(0, len(words), WORDS_AT_ONCE):
        some = points[start : start + WORDS_AT_ONCE]
        for word, row in zip(words[start:], _nearest(space, some), strict=False):
            others = (space.words[place] for place in row)
            different = [other for other in others if other.casefold() != word.casefold()]
            found[word] = [spell_like(other, word) for other in different[:NEAREST]]
    return found


def _nearest(space: Space, points: NDArray[np.intp]) -> list[list[int]]:
    """The nearest words of each point, itself included."""
    here = space.at(points).astype(np.float32)
    scores = here @ space.vectors.T - np.square(space.vectors).sum(axis=1) / 2
    most = min(NEAREST + 2, len(space))
    found = np.argpartition(-scores, most - 1, axis=1)[:, :most]
    order = np.argsort(-np.take_along_axis(scores, found, axis=1), axis=1, kind="stable")
    return [[int(place) for place in row] for row in np.take_along_axis(found, order, axis=1)]


@dataclass(frozen=True, eq=False)
class NeighborModel:
    """A masked language model, its tokenizer, and the most tokens it reads."""

    network: Any
    tokenizer: Tokenizer
    context: int


def load_masked(folder: Path) -> NeighborModel:
    """A masked language model from a folder."""
    extra("transformers", needed_for="neighbors from a masked language model", extra="train")
    from sfumato.core.pretrained import quiet
    from sfumato.models.load import context_of, is_causal
    from sfumato.models.tokenizer import load_tokenizer

    tokenizer = load_tokenizer(folder)
    with quiet():
        network, _ = read_network("AutoModelForMaskedLM", folder, "a masked language model")
    if is_causal(network.eval()):
        raise BadInput(
            f"{folder} cannot be used as a masked language model (it reads from left to right only)"
        )
    return NeighborModel(network, tokenizer, context_of(network, tokenizer))


def from_masked_model(
    texts: Sequence[str], model: NeighborModel, count: int, randomness: Randomness
) -> list[list[str]]:
    """At most ``count`` neighbors of each text."""
    return [_of_text(text, model, count, randomness) for text in texts]


def _of_text(text: str, model: NeighborModel, count: int, randomness: Randomness) -> list[str]:
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
        for word, row, place in zip(some, _fill(model, tokens, at, randomness), at, strict=True):
            found += _suitable(model, row, tokens[place], words[word], word)
    best = sorted(found, key=lambda one: -one[0])[:count]
    return [words.replaced([word], [new]).text for _, word, new in best]


def _single_tokens(words: Words, places: Sequence[tuple[int, int]]) -> dict[int, int]:
    """The words that are one token, each with the position of the token."""
    starts = {start: place for place, (start, end) in enumerate(places) if end > start}
    found = {}
    for word in range(len(words)):
        # A token may begin with the space before its word.
        for start in (words.starts[word], words.starts[word] - 1):
            place = starts.get(start)
            if place is not None and places[place][1] == words.ends[word]:
                found[word] = place
    return found


def _fill(
    model: NeighborModel, tokens: list[int], at: list[int], randomness: Randomness
) -> list[Tensor]:
    """Probabilities of all tokens at each place, with most of its embedding dropped."""
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
    model: NeighborModel, shares: Tensor, old: int, original: str, word: int
) -> list[tuple[float, int, str]]:
    best = shares.topk(min(4 * NEAREST, len(shares)))
    rest = max(1e-9, 1.0 - float(shares[old]))
    found = []
    for share, token in zip(best.values.tolist(), best.indices.tolist(), strict=True):
        said = model.tokenizer.decode([token]).strip()
        whole = list(Words.of(said)) == [said]
        if token != old and whole and said.casefold() != original.casefold():
            found.append((share / rest, word, spell_like(said, original)))
    return found[:NEAREST]
