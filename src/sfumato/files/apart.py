"""Whether text that is said to be public is private text after all.

What is made of public text (a vocabulary, a pool of sentences) shows it. So the private file itself
is refused in its place, be it under another name or as a copy, and so is a file that has one of its
longer documents. This finds mistakes. It cannot prove that a text is public.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from filecmp import cmp
from hashlib import blake2b
from pathlib import Path
from secrets import token_bytes

from sfumato.core.errors import InvalidArgument
from sfumato.files.source import Source

# Short texts ("Thank you.") occur in unrelated corpora.
LONG_ENOUGH = 40

PUBLIC_ONLY = (
    "what is written anew is made of that text, and shows it: name a file that is public and was "
    "put together without looking at the input"
)


def is_same_file(public: Path, private: Path) -> bool:
    """Whether two paths lead to one file."""
    return public.exists() and private.exists() and public.samefile(private)


def is_same_content(public: Path, private: Path) -> bool:
    """Whether two files hold the same, byte by byte."""
    return public.is_file() and private.is_file() and cmp(public, private, shallow=False)


@dataclass(frozen=True, repr=False)
class Marks:
    """Which texts were seen, by digests under a salt that is forgotten; short ones do not count."""

    _salt: bytes = field(default_factory=lambda: token_bytes(16))
    _places: dict[bytes, int] = field(default_factory=dict)

    @classmethod
    def of(cls, texts: Iterable[str]) -> Marks:
        """The marks of some texts, each with its number from 1 on."""
        marks = cls()
        for number, text in enumerate(texts, start=1):
            if len(text.strip()) >= LONG_ENOUGH:
                marks._places.setdefault(marks._mark(text), number)
        return marks

    def place(self, text: str) -> int | None:
        """The number of the text that is the same but for white space around it; None if none is.

        >>> marks = Marks.of(["Thank you.", "A text that is long enough to be told from others."])
        >>> marks.place(" A text that is long enough to be told from others."), marks.place("No.")
        (2, None)
        """
        return self._places.get(self._mark(text)) if self._places else None

    def _mark(self, text: str) -> bytes:
        spelled = text.strip().encode("utf-8", "surrogatepass")
        return blake2b(spelled, key=self._salt, digest_size=16).digest()


def refuse_private_text(public: Mapping[str, Source], private: Source) -> None:
    """Refuse the private input, or text of it, among files by the settings that name them."""
    if private.path is None:
        return
    for name, source in public.items():
        if source.path is None:
            continue
        same = is_same_file(source.path, private.path)
        if same or is_same_content(source.path, private.path):
            raise InvalidArgument(f"{name}: this is the private input itself; {PUBLIC_ONLY}")
        marks = Marks.of(one.text for one in source.documents())
        for document in private.settled().documents():
            place = marks.place(document.text)
            if place is not None:
                raise InvalidArgument(
                    f"{name}: its document {place:,} is also a document of the private input; "
                    f"{PUBLIC_ONLY}"
                )
