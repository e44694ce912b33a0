"""Attackers on the words of a privatized text, and what to compare their guesses with.

``Nearest`` guesses the replacement and the words near it. ``Masked`` never looks at the
replacement: each privatized word is masked, and a masked language model says what it expects there,
given the words around as they are in the privatized text. What the model is sure of was not secret
to begin with: that attack measures how much the *context* gives away. ``Bayes`` has a module of its
own.

Guesses are compared with blind guesses, which are the same for every word, and with guesses on a
text that cannot leak.

Care
    A masked language model fills a mask with one token, so a word that its tokenizer splits is
    never guessed.

Reference
    Yue et al. 2021 (SanText) and Xu et al. 2020, "mask token inference attack".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from sfumato.attacks.attack import Done
from sfumato.attacks.inference.observed import Observed
from sfumato.attacks.inference.priors import Prior
from sfumato.core.arrays import Flags, Floats, Points
from sfumato.core.checks import extra
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.pretrained import quiet, read_network, require_model
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.rows import CELLS, distances
from sfumato.vectors.space import Space

if TYPE_CHECKING:
    from torch import Tensor

    from sfumato.models.tokenizer import Tokenizer

NOBODY = -1
# Tokens of context on each side, characters of text read for them, and masks in one batch.
AROUND = 60
CHARACTERS = 600
AT_ONCE = 32


class Attacker(Protocol):
    """Guesses words from a privatized text.

    ``reads_context`` says whether it uses the words around, some of which a selective release
    leaves unchanged.
    """

    @property
    def reads_context(self) -> bool:
        """Whether a guess depends on more than the replacement itself."""
        ...

    @property
    def knowledge(self) -> str:
        """What this attacker is assumed to know besides the text and how it was made."""
        ...

    def guesses(
        self, observed: Observed, count: int, randomness: Randomness, done: Done | None = None
    ) -> Points:
        """The best guesses for each word, best first; ``NOBODY`` where there are no more."""
        ...


@dataclass(frozen=True)
class Nearest:
    """Guesses the replacement itself, then the words nearest to it."""

    reads_context: ClassVar[bool] = False
    knowledge: ClassVar[str] = (
        "They guess the replacement itself, then the words nearest to it in the public vectors."
    )

    def guesses(
        self,
        observed: Observed,
        count: int,
        randomness: Randomness,  # noqa: ARG002  # every attacker is called alike
        done: Done | None = None,
    ) -> Points:
        """The replacement and its neighbors."""
        outputs, which = np.unique(observed.outputs, return_inverse=True)
        found = np.full((len(outputs), count), NOBODY, dtype=np.intp)
        size = max(1, CELLS // len(observed.space))
        for start in range(0, len(outputs), size):
            near = neighbors(observed, outputs[start : start + size], count)
            found[start : start + size, : near.shape[1]] = near
            if done:
                done(min(start + size, len(outputs)), len(outputs))
        return found[which.reshape(-1)]


def neighbors(observed: Observed, outputs: Points, count: int) -> Points:
    """The possible originals nearest to each output; the output itself comes first."""
    possible = observed.possible
    away = distances(observed.space, outputs)[:, possible]
    away[possible[None] == outputs[:, None]] = -1.0
    few = min(count, len(possible))
    some = np.sort(np.argpartition(away, few - 1, axis=1)[:, :few], axis=1)
    order = np.argsort(np.take_along_axis(away, some, axis=1), axis=1, kind="stable")
    return possible[np.take_along_axis(some, order, axis=1)]


@dataclass(eq=False)
class Best:
    """The candidates with the largest weights so far, one row for each output."""

    points: Points
    weights: Floats

    @classmethod
    def none_yet(cls, outputs: int, count: int) -> Best:
        """Empty rows."""
        shape = outputs, count
        return cls(np.full(shape, NOBODY, dtype=np.intp), np.zeros(shape))

    def add(self, points: Points, weights: Floats) -> None:
        """Add candidates and keep the best; ``weights`` has one row for each output."""
        count = self.points.shape[1]
        few = min(count, weights.shape[1])
        # Ties are decided by the order of the points.
        top = np.sort(np.argpartition(-weights, few - 1, axis=1)[:, :few], axis=1)
        joined = np.hstack([self.weights, np.take_along_axis(weights, top, axis=1)])
        named = np.hstack([self.points, points[top]])
        order = np.argsort(-joined, axis=1, kind="stable")[:, :count]
        self.weights = np.take_along_axis(joined, order, axis=1)
        self.points = np.take_along_axis(named, order, axis=1)
        # A candidate of weight 0 is impossible.
        self.points[self.weights <= 0] = NOBODY

    def filled(self, observed: Observed, outputs: Points) -> Points:
        """The candidates; where there are too few, words near the output are appended."""
        count = self.points.shape[1]
        lacking = np.flatnonzero((self.points == NOBODY).any(axis=1))
        fill = Nearest().guesses(
            replace(observed, outputs=outputs[lacking]), count, Randomness.secure()
        )
        filled = self.points.copy()
        for row, more in zip(lacking.tolist(), fill.tolist(), strict=True):
            filled[row] = _without_repetition([*self.points[row].tolist(), *more], count)
        return filled


def _without_repetition(points: list[int], count: int) -> list[int]:
    kept = [point for point in dict.fromkeys(points) if point != NOBODY][:count]
    return kept + [NOBODY] * (count - len(kept))


def right(guesses: Points, originals: Points) -> Flags:
    """For each word and guess, whether it is right; no guess is ever the unknown word."""
    found: Flags = guesses == originals[:, None]
    return found


def blind_share(prior: Prior, originals: Points, count: int) -> float:
    """The share of words found by ``count`` guesses that are the same for every word."""
    if prior.even:
        # All choices are equally good; this is the mean over all of them.
        known = np.isin(originals, prior.points).mean()
        return float(known) * min(1.0, count / len(prior.points))
    return float(np.isin(originals, prior.likeliest(count)).mean())


def shuffle_unrelated(seen: Observed, prior: Prior, randomness: Randomness) -> Points:
    """Replacements that are independent of the originals."""
    cumulated = prior.shares.cumsum()
    drawn = randomness.uniform(len(seen)) * cumulated[-1]
    places = np.minimum(cumulated.searchsorted(drawn, side="right"), len(prior.points) - 1)
    words = prior.points[places]
    outputs = np.empty(len(seen), dtype=np.intp)
    for rank, mechanism in enumerate(seen.mechanisms):
        mine = np.flatnonzero(seen.ranks == rank)
        outputs[mine] = mechanism.privatize(words[mine], randomness.stream(rank))
    return outputs


def displace(count: int, randomness: Randomness) -> Points:
    """A random cyclic permutation: without fixed points, if there are two or more items."""
    order = np.argsort(randomness.uniform(count), kind="stable")
    moved = np.empty(count, dtype=np.intp)
    moved[order] = np.roll(order, 1)
    return moved


@dataclass(frozen=True, eq=False)
class MaskedModel:
    """A masked language model from a folder, and its tokenizer."""

    network: Any
    tokenizer: Tokenizer
    mask: int

    @classmethod
    def load(cls, folder: Path) -> MaskedModel:
        """Read a model; nothing is downloaded and no code from the folder is run."""
        extra("transformers", needed_for="a masked language model", extra="train")
        from sfumato.models.tokenizer import load_tokenizer

        require_model(folder)
        tokenizer = load_tokenizer(folder)
        if tokenizer.backend.mask_token_id is None:
            raise InvalidArgument(
                f"the tokenizer in {folder} has no mask token: a masked language model is "
                "needed, such as BERT"
            )
        with quiet():
            network, missing = read_network(
                "AutoModelForMaskedLM", folder, "a masked language model"
            )
        if missing:
            raise BadInput(
                f"{folder} is no complete masked language model: it lacks weights, among them "
                f"{missing[0]}"
            )
        return cls(network.eval(), tokenizer, int(tokenizer.backend.mask_token_id))

    @cached_property
    def pieces(self) -> list[str]:
        """The text of each token; empty for one that does not begin a word."""
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
    """Guesses what a masked language model expects at each privatized place."""

    model: MaskedModel

    reads_context: ClassVar[bool] = True
    knowledge: ClassVar[str] = (
        "They do not look at the replacement: a public masked language model predicts the word "
        "from the words around it, as they are in the privatized text."
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
            # Several tokens may be the same word of the vectors (capitals), so take a few more.
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
        """For each word the tokens around it with a mask in its place, and the mask's position."""
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
    """The text before and after each word, with the observed outputs in place."""
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
