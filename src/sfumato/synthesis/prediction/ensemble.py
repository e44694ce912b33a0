"""Prompts with private records, read together, that write public tokens one after the other.

Guarantee
    What a prompt says depends on its own records, on public numbers and on the tokens that were
    drawn before, to the last digit: no record has any influence on what another prompt says. This
    is for networks that compute each row of a batch from that row alone.

Why it holds
    Whether a network does so is checked before anything private is read
    (``models.row_independence``): kinds that are known not to are refused, and a public batch is
    read with another last row. That trial is in rows of the length that is used, in a batch of the
    size that is used or in one for a single text if that is smaller; it proves nothing for a
    network that couples rows in a way that is neither known nor shows there.

    The digits of a row's sums depend on the shape of the batch and on its place in it. Both are
    public here: every row is padded to a length that
    is the same for all corpora, one longer than the longest prompt there can be, so that no row
    and no batch is without padding, which some networks treat in another way; a place that is empty
    is a row that reads the prompt without a record, and its scores are thrown away.

Care
    A longer record is cut at ``record_tokens``, a public number. The texts of a group end at
    different times; rows of a text that has ended read on, for nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models.tokenizer import Tokenizer
from sfumato.models.writing import Writer, Writing
from sfumato.synthesis.model import first_line
from sfumato.synthesis.prediction.law import AverageLaw
from sfumato.synthesis.prediction.split import Group

Whole = NDArray[np.int64]
_BETWEEN = "\n"


@dataclass(frozen=True, repr=False)
class PrivateRecord:
    """The tokens of a record and the place of its label; without ``tokens`` a place is empty."""

    tokens: tuple[int, ...] = field(repr=False)
    label: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Frame:
    """What stands around the records of a prompt, for each label: tokens before and after."""

    before: tuple[tuple[int, ...], ...]
    after: tuple[tuple[int, ...], ...]
    between: tuple[int, ...]
    record_tokens: int
    shots: int

    @classmethod
    def of(
        cls,
        tokenizer: Tokenizer,
        prompt: str,
        labels: Sequence[str],
        *,
        record_tokens: int,
        shots: int,
    ) -> Frame:
        """From a prompt in which {text} and {label} stand for what they say."""
        begin = () if tokenizer.begin is None else (tokenizer.begin,)
        parts = [prompt.replace("{label}", label).split("{text}", maxsplit=1) for label in labels]
        return cls(
            before=tuple((*begin, *tokenizer.encode_public(one)) for one, _ in parts),
            after=tuple(tuple(tokenizer.encode_public(one)) for _, one in parts),
            between=tuple(tokenizer.encode_public(_BETWEEN)) if shots > 1 else (),
            record_tokens=record_tokens,
            shots=shots,
        )

    @property
    def width(self) -> int:
        """The length of every row: longer by one than any prompt."""
        around = max(len(one) + len(two) for one, two in zip(self.before, self.after, strict=True))
        records = self.shots * self.record_tokens + (self.shots - 1) * len(self.between)
        return around + records + 1

    def row(self, records: Sequence[Sequence[int]], label: int) -> list[int]:
        """What the model reads."""
        read: list[int] = []
        for one in records:
            read += [*(self.between if read else ()), *one[: self.record_tokens]]
        return [*self.before[label], *read, *self.after[label]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Ensemble:
    """A model, its prompts and the law by which they agree; ``batch`` rows are read at a time."""

    writer: Writer
    law: AverageLaw
    frame: Frame
    tokens: int
    batch: int

    def __post_init__(self) -> None:
        needed = self.frame.width + self.tokens
        if needed > self.writer.context:
            raise InvalidArgument(
                f"a prompt with its records and {self.tokens} tokens may have {needed:,} tokens, "
                f"and the model reads {self.writer.context:,}; take fewer "
                "record_tokens, shots or tokens"
            )

    def write(
        self, group: Group, records: Sequence[PrivateRecord], randomness: Randomness
    ) -> list[tuple[int, str]]:
        """The texts of a group, each with the place of its label; ``records`` are all there are."""
        rows, speaks_for = self._rows(group, records)
        return self._speak(rows, speaks_for, group.labels, randomness)

    def write_without_records(
        self, labels: Sequence[int], randomness: Randomness
    ) -> list[tuple[int, str]]:
        """Texts by prompts without a record, for comparison; all say the same, so one is read."""
        rows = [self.frame.row([], label) for label in labels]
        return self._speak(rows, np.arange(len(rows)), labels, randomness, each=self.law.prompts)

    def _rows(
        self, group: Group, records: Sequence[PrivateRecord]
    ) -> tuple[list[list[int]], Whole]:
        """A row for every prompt, and the text that it speaks for; −1 if for none."""
        rows, speaks_for = [], []
        for prompt in group.prompts:
            found = [records[one] for one in prompt if records[one].tokens]
            label = found[0].label if found else -1
            if label in group.labels:
                rows.append(self.frame.row([one.tokens for one in found], label))
                speaks_for.append(group.labels.index(label))
            else:
                rows.append(self.frame.row([], group.labels[0]))
                speaks_for.append(-1)
        return rows, np.array(speaks_for, dtype=np.int64)

    def _speak(
        self,
        rows: Sequence[Sequence[int]],
        speaks_for: Whole,
        labels: Sequence[int],
        randomness: Randomness,
        *,
        each: int = 1,
    ) -> list[tuple[int, str]]:
        """Draw token by token; a row counts ``each`` times."""
        tokenizer = self.writer.tokenizer
        chunks = [slice(at, at + self.batch) for at in range(0, len(rows), self.batch)]
        states = [self.writer.begin(rows[one], width=self.frame.width) for one in chunks]
        streams = [randomness.stream(place) for place in range(len(labels))]
        said: list[list[int]] = [[] for _ in labels]
        ended = [False] * len(labels)
        for step in range(self.tokens):
            for text, stream in enumerate(streams):
                if ended[text]:
                    continue
                speaking = [speaks_for[one] == text for one in chunks]
                token = self.law.draw(each * self._total(states, speaking), stream)
                said[text].append(token)
                ended[text] = token == tokenizer.end or _line_ends(tokenizer.decode(said[text]))
            if all(ended) or step == self.tokens - 1:
                break
            following = [said[text][-1] if text >= 0 else tokenizer.padding for text in speaks_for]
            for state, chunk in zip(states, chunks, strict=True):
                state.step(following[chunk])
        return [
            (label, first_line(tokenizer.decode([one for one in own if one != tokenizer.end])))
            for label, own in zip(labels, said, strict=True)
        ]

    def _total(self, states: Sequence[Writing], speaking: Sequence[NDArray[np.bool_]]) -> Whole:
        """What the rows that speak for one text say together."""
        total: Whole = np.zeros(len(self.law.tokens), dtype=np.int64)
        for state, rows in zip(states, speaking, strict=True):
            if rows.any():
                total += self.law.contributions(state.scores[rows]).sum(axis=0)
        return total


def _line_ends(text: str) -> bool:
    """Whether something was said, and then the line has ended."""
    return "\n" in text.lstrip()
