"""A tokenizer that is learned from private documents, with a guarantee.

Guarantee
    The tokenizer, and the noisy word counts it was learned from, are (ε, δ)-DP for two corpora of
    which one lacks one contributor (a document, or an author), its place left empty.

Why it holds
    The documents are looked at once, for a private histogram of their words
    (``histograms.thresholds`` and ``histograms.counts``). What a word is, is decided by a public
    rule and each text alone, and the alphabet is the 256 bytes whatever the texts contain. The
    pieces are learned from the noisy counts and nothing else, so they are post-processing.

Care
    A private tokenizer shows words that many contributors have in common; that is its purpose. If a
    name or a phrase is in the documents of very many contributors, it can be shown. A model that is
    trained with this tokenizer on the same documents is a second release: their levels add up. So
    do those of every further draw, also after one that was refused because too few words came
    through; ``models.draws`` notes a draw before it is made.

Reference
    Hoory et al. 2021, "Learning and evaluating a differentially private pre-trained language model"
    (WordPiece); Ponomareva, Bastings and Vassilvitskii 2022, "Training text-to-text transformers
    with privacy guarantees" (SentencePiece).

What a folder of such a tokenizer holds: the files of Hugging Face's format, and ``guarantee.json``
with the guarantee, its sentence and the settings. Nothing in it is private.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.core.checks import at_least
from sfumato.core.display import as_html, as_lines
from sfumato.core.errors import BadInput, InvalidArgument, OutputExists, StorageFailed
from sfumato.core.files import sync_files, sync_folder
from sfumato.core.json import read_object
from sfumato.core.pretrained import quiet
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.histograms.counts import NoisyCounts
from sfumato.histograms.thresholds import Noise
from sfumato.histograms.words import Budget, count_words, refuse_too_few
from sfumato.models.draws import note_beside, refuse_spent
from sfumato.models.learned import TokenizerKind
from sfumato.models.provenance import GUARANTEE
from sfumato.models.tokenizer import Tokenizer, load_tokenizer
from sfumato.text.document import Document

SCHEMA = 1
SCOPE = "the tokenizer and the word counts it was learned from"

# From fewer words, a vocabulary is little more than an alphabet.
FEWEST_WORDS = 64


@dataclass(frozen=True, eq=False)
class PrivateTokenizer:
    """A tokenizer, and what is proven about it.

    ``words`` is how many words came through; ``noise`` and ``contributors`` say how many
    contributors a word needed for that.
    """

    tokenizer: Tokenizer
    guarantee: Guarantee
    noise: Noise
    kind: str
    words: int
    contributors: int
    folder: Path | None = None

    def summary(self) -> str:
        """How many words came through, in a line; covered by the guarantee."""
        return (
            f"{self.tokenizer.size:,} tokens from {self.words:,} words of {self.contributors:,} "
            f"{self.guarantee.unit}s; noise of {self.noise.deviation:.4g} on every count"
            + (
                f", words below {self.noise.threshold:.4g} dropped"
                if self.noise.threshold is not None
                else ""
            )
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "schema": SCHEMA,
            "sentence": self.guarantee.sentence(),
            "for_release": self.guarantee.for_release,
            "guarantee": self.guarantee.as_dict(),
            "kind": self.kind,
            "size": self.tokenizer.size,
            "words": self.words,
            "contributors": self.contributors,
            "noise": self.noise.as_dict(),
        }

    def __fspath__(self) -> str:
        if self.folder is None:
            raise InvalidArgument("this tokenizer was not saved to a folder")
        return str(self.folder)

    def __repr__(self) -> str:
        return as_lines(self._title(), self._facts())

    def _repr_html_(self) -> str:
        return as_html(self._title(), ["", ""], self._facts())

    def _title(self) -> str:
        where = "" if self.folder is None else f" in {self.folder}"
        return f"Private tokenizer ({self.kind}){where}"

    def _facts(self) -> list[tuple[str, str]]:
        return [("learned", self.summary()), ("guarantee", self.guarantee.sentence())]


def learn_privately(  # noqa: PLR0913  # five are needed, the others have defaults
    documents: Sequence[Document],
    kind: TokenizerKind,
    size: int,
    budget: Budget,
    randomness: Randomness,
    *,
    public_words: Iterable[str] | None = None,
    before: Callable[[Noise], None] | None = None,
) -> PrivateTokenizer:
    """Learn a tokenizer from private documents; each call is a release of its own.

    With ``public_words``, a public list, only words of the list are counted, and none needs many
    contributors to be counted. ``before`` is called before the noise is drawn; what is raised later
    is raised after a release.
    """
    check_size(kind, size)
    listed = None if public_words is None else listed_words(kind, public_words)
    found = count_words(documents, budget, kind.cut, randomness, public=listed, before=before)
    refuse_too_few(found, budget, FEWEST_WORDS, "a tokenizer")
    return _made(found, kind, size, budget.promise(found.noise, randomness, SCOPE))


def _made(
    found: NoisyCounts, kind: TokenizerKind, size: int, guarantee: Guarantee
) -> PrivateTokenizer:
    return PrivateTokenizer(
        tokenizer=replace(kind.learn(found.counts, size), guarantee=guarantee),
        guarantee=guarantee,
        noise=found.noise,
        kind=kind.name,
        words=len(found),
        contributors=found.contributors,
    )


def check_size(kind: TokenizerKind, size: int) -> None:
    """Refuse a size without room for the alphabet, before anything is read."""
    at_least("size", size, kind.smallest)


def listed_words(kind: TokenizerKind, public: Iterable[str]) -> set[str]:
    """The words of a public list as the kind cuts them, alone and after a space."""
    return {
        word for one in public for text in (one, f" {one}") for word in kind.cut(text.rstrip("\n"))
    }


def save_private(made: PrivateTokenizer, folder: Path) -> PrivateTokenizer:
    """Write the tokenizer with its guarantee; the folder appears when it is complete, on disk."""
    _refuse_existing(folder)
    beside = folder.with_name(folder.name + ".unfinished")
    try:
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(parents=True)
        with quiet():
            made.tokenizer.backend.save_pretrained(beside)
        content = json.dumps(made.as_dict(), indent=2, ensure_ascii=False) + "\n"
        (beside / GUARANTEE).write_text(content, encoding="utf-8")
        sync_files(beside)
        beside.replace(folder)
        sync_folder(folder.absolute().parent)
    except OSError as error:
        problem = error.strerror or "writing failed"
        raise StorageFailed(f"cannot write {folder}: {problem}") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return replace(made, folder=folder)


def forget_draw(folder: Path) -> None:
    """Remove the note of a draw whose tokenizer stands in ``folder``, which is refused itself."""
    if folder.is_dir():
        note_beside(folder).unlink(missing_ok=True)


def refuse_folder(folder: Path) -> None:
    """Refuse a folder that exists, or one whose draw is spent, before anything is drawn."""
    _refuse_existing(folder)
    refuse_spent(folder)
    # From a kill in the middle of writing: somebody's draw, whose note is gone.
    _refuse_existing(folder.with_name(folder.name + ".unfinished"))


def _refuse_existing(folder: Path) -> None:
    if folder.exists():
        raise OutputExists(f"{folder} exists already; choose another folder")


def load_private(folder: Path) -> PrivateTokenizer:
    """A tokenizer that ``save_private`` wrote."""
    path = folder / GUARANTEE
    content = read_object(path, "what a tokenizer guarantees")
    try:
        if content["schema"] != SCHEMA:
            raise BadInput(f"cannot read {path}: another version of sfumato wrote it")
        return PrivateTokenizer(
            tokenizer=load_tokenizer(folder),
            guarantee=Guarantee.from_dict(content["guarantee"]),
            noise=Noise.from_dict(content["noise"]),
            kind=str(content["kind"]),
            words=int(content["words"]),
            contributors=int(content["contributors"]),
            folder=folder,
        )
    except (KeyError, TypeError, InvalidArgument):
        raise BadInput(f"{path} is damaged: it is not what a tokenizer guarantees") from None
