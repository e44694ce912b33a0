"""Texts by a language model: written after a public prompt for a label, and paraphrased.

The model sees prompts, labels and texts that noisy votes chose, so its sampler may do anything:
top-k and a low temperature cost no privacy here. The model and its prompts must be public. A model
that was trained on the private records would give them away, whatever the votes.

Reference
    Xie et al. 2024 (AUG-PE): the random and the variation prompts.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.arrays import Floats
from sfumato.core.checks import at_least, positive
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.files import reading
from sfumato.core.randomness import Randomness
from sfumato.core.settings import FileToRead
from sfumato.models.writing import Writer, load_writer

PROMPT = "A short text about {label}:"
VARY = "Text: {text}\nThe same in other words:"
MOST_TOKENS = 4096


@dataclass(frozen=True, kw_only=True)
class ModelGenerator:
    """Write with a causal or an encoder-decoder model in a folder.

    ``prompt`` begins a text, {label} standing for the label; ``prompts`` is a TOML file with a
    prompt for each label instead. ``variation`` asks for a paraphrase of {text}. Texts have at most
    ``tokens`` tokens, drawn at ``temperature`` from the ``top`` likeliest, and end at the first
    line break. ``batch`` texts are written at a time.
    """

    model: FileToRead = field(default="", repr=False)
    prompt: str = PROMPT
    prompts: FileToRead = field(default="", repr=False)
    variation: str = VARY
    temperature: float = 1.0
    top: int = 50
    tokens: int = 32
    batch: int = 32

    def __post_init__(self) -> None:
        if not self.model:
            raise InvalidArgument(
                "a language model writes the texts: name its folder, `settings={'model': FOLDER}`"
            )
        if self.variation.count("{text}") != 1:
            raise InvalidArgument("variation must hold {text} once, where the text stands")
        positive("temperature", self.temperature)
        at_least("top", self.top, 1)
        at_least("tokens", self.tokens, 1, MOST_TOKENS)
        at_least("batch", self.batch, 1)

    @cached_property
    def writer(self) -> Writer:
        """The model, loaded at the first use."""
        return load_writer(Path(self.model))

    def invent(self, label: str, count: int, randomness: Randomness) -> list[str]:
        """Texts after the prompt of a label."""
        return self._write([self._prompt(label)] * count, randomness)

    def vary(
        self, texts: Sequence[str], label: str, count: int, randomness: Randomness
    ) -> list[str]:
        """Paraphrases of the texts, in turn."""
        if not texts:
            return []
        asked = [
            self.variation.replace("{label}", label).replace("{text}", texts[turn % len(texts)])
            for turn in range(count)
        ]
        return self._write(asked, randomness)

    def public_facts(self) -> dict[str, Any]:
        """What may be told of the model: it is public."""
        return {
            "model": self.writer.name,
            "model_digest": self.writer.digest,
            "temperature": self.temperature,
            "top": self.top,
        }

    @cached_property
    def _table(self) -> dict[str, str]:
        path = Path(self.prompts)
        with reading(path, "a table of prompts by label"):
            found = tomllib.loads(path.read_text("utf-8"))
        if not all(isinstance(one, str) for one in found.values()):
            raise BadInput(f"{path} must have a prompt for each label: LABEL = 'PROMPT'")
        return found

    def _prompt(self, label: str) -> str:
        if not self.prompts:
            return self.prompt.replace("{label}", label)
        if label not in self._table:
            raise InvalidArgument(f"{self.prompts} has no prompt for the label {label!r}")
        return self._table[label]

    def _write(self, prompts: Sequence[str], randomness: Randomness) -> list[str]:
        written: list[str] = []
        for start in range(0, len(prompts), self.batch):
            written += self._some(prompts[start : start + self.batch], randomness)
        return written

    def _some(self, prompts: Sequence[str], randomness: Randomness) -> list[str]:
        tokenizer = self.writer.tokenizer
        state = self.writer.begin([self._row(one) for one in prompts])
        said: list[list[int]] = [[] for _ in prompts]
        ended = [False] * len(prompts)
        for step in range(self.tokens):
            for place, chance in enumerate(randomness.uniform(len(prompts))):
                if ended[place]:
                    continue
                # A model may have more outputs than there are tokens.
                scores = state.scores[place][: tokenizer.size]
                token = _draw(scores, self.temperature, self.top, float(chance))
                said[place].append(token)
                line = "\n" in tokenizer.decode(said[place]).lstrip()
                ended[place] = token == tokenizer.end or line
            if all(ended) or step == self.tokens - 1:
                break
            # Rows that have ended read on, for nobody.
            state.step([row[-1] for row in said])
        ends = tokenizer.end
        return [first_line(tokenizer.decode([t for t in one if t != ends])) for one in said]

    def _row(self, prompt: str) -> list[int]:
        tokenizer = self.writer.tokenizer
        tokens = tokenizer.encode(prompt).tolist()
        if self.writer.reads_apart:
            first, last = tokenizer.frame
            room = self.writer.context - len(first) - len(last)
            row = [*first, *tokens[-max(1, room) :], *last]
        else:
            room = self.writer.context - self.tokens - 1
            if room < 1:
                raise InvalidArgument(
                    f"tokens={self.tokens} leave no room for a prompt in the "
                    f"{self.writer.context} tokens that the model reads; take fewer"
                )
            begin = [] if tokenizer.begin is None else [tokenizer.begin]
            row = [*begin, *tokens[-room:]]
        return row or [tokenizer.padding]


def first_line(text: str) -> str:
    r"""The first line that holds something, as one that can be printed.

    >>> first_line("\n  It is\tfine. \nNext")
    'It is fine.'
    """
    lines = text.strip().splitlines() or [""]
    spaced = "".join(one if one.isprintable() else " " for one in lines[0])
    return " ".join(spaced.split())


def _draw(scores: Floats, temperature: float, top: int, chance: float) -> int:
    """One of the likeliest tokens, by a number between 0 and 1."""
    count = min(top, len(scores))
    best = np.argpartition(-scores, count - 1)[:count]
    weights = np.exp((scores[best] - scores[best].max()) / temperature)
    edges = np.cumsum(weights) / weights.sum()
    return int(best[min(int(np.searchsorted(edges, chance, side="right")), count - 1)])
