"""Text to token numbers and back, with the few special tokens that training needs.

Care
    If a document contains the text ``<|endoftext|>``, it is encoded as ordinary text: special
    tokens are added by number, or stand in a public prompt, and are never read from a document. A
    tokenizer keeps nothing of a document; it has no cache of texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import extra
from sfumato.core.errors import InvalidArgument, MissingModel, UndecodableText
from sfumato.core.pretrained import read_tokenizer
from sfumato.guarantees.guarantee import Guarantee
from sfumato.models.provenance import read_provenance

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


Tokens = NDArray[np.unsignedinteger[Any]]
# In the place of a token that is not to be predicted; torch's losses pass over it.
IGNORED = -100


@dataclass(frozen=True, eq=False)
class Tokenizer:
    """A Hugging Face tokenizer as a map between text and token numbers.

    ``guarantee`` is what is proven about the text it was learned from, if it was learned privately.
    ``rows`` is how many numbers the network has that reads them, where that is known; a text with
    another number is read as if its token were unknown (``models.readable_numbers``).
    """

    backend: PreTrainedTokenizerBase = field(repr=False)
    name: str = "tokenizer"
    guarantee: Guarantee | None = field(default=None, repr=False)
    rows: int | None = field(default=None, repr=False)

    @property
    def size(self) -> int:
        """How many token numbers there are, special ones included."""
        return len(self.backend)

    @property
    def number_type(self) -> type[np.unsignedinteger[Any]]:
        """The smallest type that holds every token number."""
        return np.uint16 if max(self.size, self.rows or 0) <= 2**16 else np.uint32

    @property
    def begin(self) -> int | None:
        """The token before a document; the one for its end if there is no other."""
        return _first(self._read(self.backend.bos_token_id), self.end)

    @property
    def end(self) -> int | None:
        """The token after a document."""
        return _first(self._read(self.backend.eos_token_id))

    @property
    def padding(self) -> int:
        """The token that fills up a row; it is masked, so any number will do."""
        number = _first(self._read(self.backend.pad_token_id), self.end)
        return 0 if number is None else number

    @property
    def unknown(self) -> int:
        """The token that is read for one that the network does not have."""
        number = _first(self._read(self.backend.unk_token_id))
        return self.padding if number is None else number

    @cached_property
    def frame(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """What a classifier expects before and after a text, such as [CLS] and [SEP]."""
        plain = self.backend.encode("a", add_special_tokens=False)
        whole = self.backend.encode("a", add_special_tokens=True)
        place = next(
            start for start in range(len(whole)) if whole[start : start + len(plain)] == plain
        )
        around = whole[:place], whole[place + len(plain) :]
        before, after = (self._readable(np.array(one, dtype=np.int64)) for one in around)
        return tuple(before.tolist()), tuple(after.tolist())

    def encode(self, text: str) -> Tokens:
        """The tokens of a text, without special ones."""
        return self.encode_many([text])[0]

    def encode_public(self, text: str) -> list[int]:
        """The tokens of a public text, such as a prompt; special tokens in it count as such."""
        found = [int(one) for one in self.backend.encode(text, add_special_tokens=False)]
        foreign = next((one for one in found if self._read(one) is None), None)
        if foreign is not None:
            raise InvalidArgument(
                f"the prompt holds {self.decode([foreign])!r}, for which the tokenizer {self.name} "
                f"has the number {foreign:,}, and the model has embeddings for {self.rows:,}; "
                "leave it out, or take a model that was trained with it"
            )
        return found

    def encode_many(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text, without special ones."""
        if not texts:
            return []
        for place, text in enumerate(texts, start=1):
            refuse_half_characters(text, f"text {place}")
        rows = self.backend(
            list(texts),
            add_special_tokens=False,
            return_attention_mask=False,
            return_token_type_ids=False,
            split_special_tokens=True,
            verbose=False,
        )["input_ids"]
        if not self._has_more:
            return [np.array(row, dtype=self.number_type) for row in rows]
        return [
            self._readable(np.array(row, dtype=np.int64)).astype(self.number_type) for row in rows
        ]

    def places(self, text: str) -> list[tuple[int, int]]:
        """Where each token of a text begins and ends, in characters.

        A character that takes several tokens belongs to all of them.
        """
        refuse_half_characters(text, "text 1")
        found = self.backend(
            text,
            add_special_tokens=False,
            return_offsets_mapping=True,
            split_special_tokens=True,
            verbose=False,
        )["offset_mapping"]
        return [(int(start), int(end)) for start, end in found]

    def decode(self, tokens: Iterable[int] | Tokens) -> str:
        """The text of some tokens; byte-level BPE gives back exactly what was encoded."""
        numbers = [int(number) for number in tokens]
        return str(
            self.backend.decode(
                numbers, skip_special_tokens=False, clean_up_tokenization_spaces=False
            )
        )

    @cached_property
    def _has_more(self) -> bool:
        """Whether there are numbers that the network does not have."""
        return self.rows is not None and max(self.backend.get_vocab().values()) >= self.rows

    def _read(self, number: int | None) -> int | None:
        """A number, if the network has it."""
        known = number is not None and (self.rows is None or number < self.rows)
        return number if known else None

    def _readable(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        return (
            numbers if self.rows is None else np.where(numbers < self.rows, numbers, self.unknown)
        )


def _first(*numbers: Any) -> int | None:
    return next((int(number) for number in numbers if number is not None), None)


def refuse_half_characters(text: str, which: str = "a text") -> None:
    """Refuse a lone surrogate, which has no bytes, without quoting the text."""
    # The library's own error would quote the text.
    try:
        if not text.isascii():
            text.encode("utf-8")
    except UnicodeEncodeError as error:
        character = error.start
    else:
        return
    raise UndecodableText(f"{which} is not Unicode: lone surrogate at character {character}")


# A folder with any of these files holds a tokenizer.
FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model")


def load_tokenizer(folder: Path) -> Tokenizer:
    """Read a tokenizer from a folder; nothing is fetched and no code of the folder is run."""
    if not folder.is_dir():
        raise MissingModel(f"there is no folder {folder} to load a tokenizer from")
    if not has_tokenizer(folder):
        raise MissingModel(f"{folder} holds no tokenizer ({', '.join(FILES)})")
    extra("transformers", needed_for="a tokenizer", extra="train")
    return Tokenizer(read_tokenizer(folder), folder.name, read_provenance(folder))


def has_tokenizer(folder: Path) -> bool:
    """Whether a folder holds a tokenizer of its own."""
    return any((folder / name).is_file() for name in FILES)
