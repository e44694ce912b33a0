"""Byte-level byte-pair encoding, learned from public text.

Guarantee
    None, and none is needed: the text is public. A vocabulary learned from private text would show
    which strings are frequent there, and rare names are among the first things it shows, so private
    text is refused (``private_tokenizer`` learns from it with noise). Nobody can tell from a file
    whether it is public; the user is trusted for that. What can be checked is whether it is the
    private corpus itself, or shares documents with it: under another name, through a link, as a
    copy, compressed, or in another format. Then it is refused.

Why it is total
    The alphabet is the 256 bytes. Text that no merge covers stays bytes, so every text in every
    script can be encoded and decoded exactly.

Care
    Every digit is a token of its own. Otherwise the number of tokens of a number would depend on
    the text the tokenizer was learned from, and the probabilities that a model gives to two numbers
    of the same length could not be compared.

Reference
    Sennrich, Haddow and Birch 2016, "Neural machine translation of rare words with subword
    units"; Radford et al. 2019 for bytes as the alphabet (GPT-2).

``default_tokenizer`` comes with the package: 8,192 tokens learned from GloVe's list of words.

It was built by ``scripts/build_default_tokenizer.py``; attribution and terms are beside the data.
It is English and independent of the user's texts, so a model trained with it from scratch has no
private vocabulary. Other scripts are encoded as bytes: longer, but exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.checks import at_least, extra
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.files.apart import LONG_ENOUGH, Marks, is_same_file
from sfumato.models.tokenizer import Tokenizer
from sfumato.text.document import Document

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Backend
    from tokenizers.models import Model


END, MASK = "<|endoftext|>", "<|mask|>"
SPECIAL = (END, MASK)
SMALLEST = 256 + len(SPECIAL)
SIZE = 8192

WHY_REFUSED = (
    "a vocabulary shows which strings are frequent in the text it was learned from, and training "
    "would not cover that: learn it from public text, use the tokenizer that comes with the "
    "package or with a model, or learn it privately (`tokenizer_epsilon=...`)"
)

WHY_LISTED = (
    "words of the list need not be frequent to be shown, so a list that comes from private text "
    "shows it: take one that is public, or none"
)

Merge = tuple[str, str]


def train_bpe(texts: Iterable[str], *, public: bool, size: int = SIZE) -> Tokenizer:
    """Learn a vocabulary of at most ``size`` tokens from public texts."""
    if not public:
        raise InvalidArgument(
            f"public=False: a tokenizer cannot be trained on private text; {WHY_REFUSED}"
        )
    return as_tokenizer(learn_merges(texts, size=size), name=f"bpe-{size}")


def learn_merges(texts: Iterable[str], *, size: int) -> Backend:
    """A tokenizer of the library, learned from scratch."""
    at_least("size", size, SMALLEST)
    extra("tokenizers", needed_for="a tokenizer", extra="train")
    from tokenizers import models, pre_tokenizers, trainers

    backend = with_digits_apart(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        min_frequency=2,
        show_progress=False,
    )
    counted = _Counted(texts)
    backend.train_from_iterator(counted, trainer=trainer)
    if not counted.characters:
        raise BadInput("there is no text to train a tokenizer on")
    return backend


def assemble_tokenizer(merges: Sequence[Merge]) -> Backend:
    """The tokenizer that these merges define: special tokens, bytes, then one token per merge."""
    extra("tokenizers", needed_for="a tokenizer", extra="train")
    from tokenizers import models, pre_tokenizers

    vocabulary: dict[str, int] = {}
    joined = (left + right for left, right in merges)
    for token in (*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet()), *joined):
        vocabulary.setdefault(token, len(vocabulary))
    backend = with_digits_apart(models.BPE(vocab=vocabulary, merges=list(merges)))
    backend.add_special_tokens(list(SPECIAL))
    return backend


def as_tokenizer(backend: Backend, *, name: str) -> Tokenizer:
    """Wrap a tokenizer of the library so that it can be saved with a model."""
    extra("transformers", needed_for="a tokenizer", extra="train")
    from transformers import PreTrainedTokenizerFast

    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token=END,
        eos_token=END,
        pad_token=END,
        mask_token=MASK,
        clean_up_tokenization_spaces=False,
    )
    return Tokenizer(wrapped, name)


def with_digits_apart(model: Model) -> Backend:
    """A tokenizer of the library for bytes, in which every digit is a word of its own."""
    from tokenizers import Tokenizer as Backend
    from tokenizers import decoders, pre_tokenizers

    backend = Backend(model)
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    backend.decoder = decoders.ByteLevel()
    return backend


class _Counted:
    """Texts, and how many characters of them have been read."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = iter(texts)
        self.characters = 0

    def __iter__(self) -> _Counted:
        return self

    def __next__(self) -> str:
        text = next(self._texts)
        self.characters += len(text)
        return text


NAME = "glove-bpe-8k"
MERGES = Path(__file__).parent / "data" / f"{NAME}.merges.txt"


@cache
def default_tokenizer() -> Tokenizer:
    """The embedded tokenizer, put together once per process."""
    return as_tokenizer(assemble_tokenizer(read_merges(MERGES)), name=NAME)


def read_merges(path: Path) -> list[Merge]:
    """One merge per line, the most frequent first; neither part can hold a space."""
    lines = path.read_text(encoding="utf-8").splitlines()
    pairs = (line.split(" ") for line in lines)
    return [(left, right) for left, right in pairs]


def write_merges(merges: list[Merge], path: Path) -> None:
    """Write merges in the format that ``read_merges`` reads."""
    path.write_text("".join(f"{left} {right}\n" for left, right in merges), encoding="utf-8")


def refuse_same_file(public: Path, private: Path) -> None:
    """Refuse two paths of the same file."""
    if is_same_file(public, private):
        raise InvalidArgument(
            f"{public} is the private corpus itself; a tokenizer cannot be trained on it: "
            f"{WHY_REFUSED}"
        )


def refuse_private_words(listed: Sequence[str], private: Iterable[Document]) -> None:
    """Refuse a public list of words that was copied from the private documents.

    A line that is a longer document, or lines that are the very documents, are no list of words.
    """
    lines, own = set(listed), {one.text.strip() for one in private} - {""}
    if lines == own or any(len(one) >= LONG_ENOUGH for one in lines & own):
        raise InvalidArgument(f"the public words are documents of the private corpus; {WHY_LISTED}")


def train_on_public(
    public: Iterable[Document], *, private: Iterable[Document], size: int = SIZE
) -> Tokenizer:
    """Learn a vocabulary from ``public``, unless one of its longer documents is in ``private``."""
    marks = Marks.of(one.text for one in private)

    def unshared() -> Iterable[str]:
        for number, one in enumerate(public, start=1):
            if marks.place(one.text) is not None:
                raise InvalidArgument(
                    f"document {number} of the text for the tokenizer is also a document of the "
                    f"private corpus; {WHY_REFUSED}"
                )
            yield one.text

    return train_bpe(unshared(), public=True, size=size)
