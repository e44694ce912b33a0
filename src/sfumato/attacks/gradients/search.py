"""The search for texts that fit the spans of two layers of attention; see ``span``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sfumato.attacks.gradients.attention import AttentionLayer, Span, first_two, read_by
from sfumato.attacks.gradients.rebuilt import Text
from sfumato.attacks.gradients.release import Seen, special_tokens
from sfumato.core.randomness import Randomness
from sfumato.metrics.reconstruction import without_special
from sfumato.models.load import LoadedModel

# Two texts of this many tokens that differ in the last one show whether the first is affected.
_PROBE = 6
_WORDS_AT_A_TIME = 4096
# A share of the vocabulary that no position can hold.
_TOO_MANY = 0.25

Choices = list[Tensor]
"""For each position the tokens that may stand there, the nearest first."""


@dataclass(frozen=True, eq=False)
class Search:
    """Both layers, their spans and thresholds, and how texts are framed."""

    model: LoadedModel
    layers: tuple[AttentionLayer, AttentionLayer]
    spans: tuple[Span, Span]
    thresholds: tuple[float, float]
    longest: int
    causal: bool

    @classmethod
    def of(cls, seen: Seen, threshold: float, most: float, longest: int) -> Search | None:
        """Prepare a search; None if a span shows nothing, or everything lies in it.

        With noise the thresholds grow by what it may have moved the span, but not above ``most``.
        """
        network: Any = seen.model.network
        layers = first_two(network.eval())
        first, second = (Span.of(one, seen.gradient, seen.step.deviation) for one in layers)
        if any(one.full or not one.rank for one in (first, second)):
            return None
        wide, wider = (max(threshold, min(most, threshold + one.least)) for one in (first, second))
        causal, longest = _is_causal(network, layers), min(longest, seen.model.context)
        if causal and not seen.model.classes:
            # Every place of a text takes a direction of its own in the second layer. A classifier
            # of two layers reads only one place after it, so that not all of them are seen.
            longest = min(longest, second.rank)
        return cls(seen.model, layers, (first, second), (wide, wider), longest, causal)

    @property
    def frame(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """What stands before and after every text."""
        tokenizer = self.model.tokenizer
        if self.model.classes:
            return tokenizer.frame
        return (() if tokenizer.begin is None else (tokenizer.begin,)), ()

    def words(self, most: int) -> Choices:
        """For each position the tokens whose input lies in the span of the first layer.

        None at all, if most of the vocabulary does: then the span tells nothing.
        """
        size = self.model.tokenizer.size
        network: Any = self.model.network
        probe = read_by(network, self.layers[0], torch.zeros(1, 2, dtype=torch.int64))[0]
        alike = bool(torch.allclose(probe[0], probe[1], rtol=1e-5, atol=1e-6))
        # Every place of the batch takes a direction of its own, unless positions do not count.
        places = 1 if alike else min(self.longest, self.spans[0].rank)
        parts = []
        for some in torch.split(torch.arange(size), _WORDS_AT_A_TIME):
            rows = some[:, None].repeat(1, places)
            parts.append(self.spans[0].distances(read_by(network, self.layers[0], rows)))
        distances = torch.cat(parts)
        if float((distances <= self.thresholds[0]).double().mean()) > _TOO_MANY:
            return []
        found = []
        for column in distances.T:
            near = (column <= self.thresholds[0]).nonzero()[:, 0]
            found.append(near[column[near].argsort()][:most])
        return found * self.longest if alike else found

    def grow(self, words: Choices, beam: int) -> list[Text]:
        """Texts of a decoder, word by word from the left."""
        before, _ = self.frame
        special = special_tokens(self.model)
        beginnings = [(0.0, list(before))]
        finished: list[tuple[float, Text]] = []
        for place in range(len(before), len(words) + 1):
            near = words[place].tolist() if place < len(words) else []
            # Begin and end stand nowhere else; for turned positions the first layer cannot tell.
            options = [one for one in near if one not in special]
            grown = self._continued(beginnings, options)
            continued = {tuple(text[:-1]) for _, text in grown}
            # Without a word that fits, a text ends; before the first one it has not begun.
            finished += [
                one for one in beginnings if tuple(one[1]) not in continued and place > len(before)
            ]
            beginnings = sorted(grown)[:beam]
            if not beginnings:
                break
        return self._cleared(finished)

    def _continued(
        self, beginnings: Sequence[tuple[float, Text]], options: Sequence[int]
    ) -> list[tuple[float, Text]]:
        rows = [[*text, word] for _, text in beginnings for word in options]
        if not rows:
            return []
        far = self._distances(torch.tensor(rows))[:, -1]
        # The mean distance so far, so that a text is judged by all of its places.
        total = torch.tensor([far_so_far for far_so_far, _ in beginnings for _ in options])
        means = total + (far - total) / len(rows[0])
        fits = (far <= self.thresholds[1]).nonzero()[:, 0].tolist()
        return [(float(means[place]), rows[place]) for place in fits]

    def descend(
        self, words: Choices, starts: int, batch: int, randomness: Randomness
    ) -> list[Text]:
        """Texts of an encoder, by replacing one word after the other."""
        finished: list[tuple[float, Text]] = []
        for length in self._lengths(words):
            choices = self._framed(words[:length])
            alone = all(len(one) == 1 for one in choices)
            for start in range(1 if alone else starts * batch):
                begun = _begin(choices, start, randomness)
                found = self._improved(begun, choices)
                if found[1] not in [text for _, text in finished]:
                    finished.append(found)
                fitting = [one for one in finished if one[0] <= self.thresholds[1]]
                if len(fitting) >= batch:
                    return self._cleared(fitting)
        return self._cleared(finished)

    def _lengths(self, words: Choices) -> list[int]:
        """How long a text may be: up to where the tokens of its end may stand, the longest first.

        If its end has no tokens, up to the last position that has a word.
        """
        _, after = self.frame
        last = next((place for place, one in enumerate(words) if not len(one)), len(words))
        if not after:
            return [last] if last else []
        ends = [
            place + 1
            for place in range(last)
            if after[-1] in words[place].tolist() and place + 1 > len(self.frame[0]) + len(after)
        ]
        return ends[::-1] or ([last] if last else [])

    def _framed(self, words: Choices) -> Choices:
        """The same positions, with the frame where it must be."""
        before, after = self.frame
        framed = list(words)
        for place, token in enumerate(before):
            framed[place] = torch.tensor([token])
        for place, token in enumerate(after, start=len(words) - len(after)):
            framed[place] = torch.tensor([token])
        return framed

    def _improved(self, text: Text, choices: Choices) -> tuple[float, Text]:
        """Coordinate descent on the mean distance of all places in the second layer."""
        best = float(self._distances(torch.tensor([text])).mean())
        while True:
            before = best
            for place, options in enumerate(choices):
                if len(options) < 2:
                    continue
                rows = torch.tensor(text).repeat(len(options), 1)
                rows[:, place] = options
                means = self._distances(rows).mean(1)
                if float(means.min()) < best:
                    best, text = float(means.min()), rows[int(means.argmin())].tolist()
            if best >= before:
                return best, text

    def _distances(self, rows: Tensor) -> Tensor:
        return self.spans[1].distances(read_by(self.model.network, self.layers[1], rows))

    def _cleared(self, found: Sequence[tuple[float, Text]]) -> list[Text]:
        """The nearest first, longer ones before their own beginnings, without special tokens."""
        special = special_tokens(self.model)
        return [without_special(text, special) for _, text in sorted(found)]


def _begin(choices: Choices, start: int, randomness: Randomness) -> Text:
    """The nearest token of every position; any of them after the first start."""
    if not start:
        return [int(one[0]) for one in choices]
    drawn = randomness.stream(start).uniform(len(choices))
    return [
        int(one[int(place * len(one))]) for one, place in zip(choices, drawn.tolist(), strict=True)
    ]


def _is_causal(network: Any, layers: tuple[AttentionLayer, AttentionLayer]) -> bool:
    """Whether what the second layer reads of a word does not depend on later words."""
    rows = torch.arange(_PROBE).repeat(2, 1)
    rows[1, -1] += 1
    read = read_by(network, layers[1], rows)[:, 0]
    return bool(torch.equal(read[0], read[1]))
