"""Is the text for the tokenizer really not the private text?

Nobody can tell from a file whether it is public; for that the user is trusted. What can be told
is that it is the corpus about to be protected, or shares documents with it: under the same name,
through a link, as a copy, packed, or in another format. Then it is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from secrets import token_bytes

from sfumato.core.errors import InvalidArgument
from sfumato.models.bpe import SIZE, WHY_REFUSED, train_bpe
from sfumato.models.tokenizer import Tokenizer
from sfumato.text.document import Document

# Short texts ("Thank you.") turn up in corpora that have nothing to do with each other.
LONG_ENOUGH = 40


def refuse_same_file(public: Path, private: Path) -> None:
    """Refuse two names that lead to one file."""
    if public.exists() and private.exists() and public.samefile(private):
        raise InvalidArgument(
            f"{public} is the private corpus itself; a tokenizer cannot be trained on it: "
            f"{WHY_REFUSED}"
        )


def train_on_public(
    public: Iterable[Document], *, private: Iterable[Document], size: int = SIZE
) -> Tokenizer:
    """Learn a vocabulary from ``public``, unless one of its longer documents is in ``private``."""
    salt = token_bytes(16)  # the marks never leave this function; the salt makes sure of it
    marks = {_mark(one.text, salt) for one in private if len(one.text.strip()) >= LONG_ENOUGH}

    def unshared() -> Iterable[str]:
        for number, one in enumerate(public, start=1):
            if marks and _mark(one.text, salt) in marks:
                raise InvalidArgument(
                    f"document {number} of the text for the tokenizer is also a document of the "
                    f"private corpus; {WHY_REFUSED}"
                )
            yield one.text

    return train_bpe(unshared(), public=True, size=size)


def _mark(text: str, salt: bytes) -> bytes:
    return blake2b(text.strip().encode("utf-8"), key=salt, digest_size=16).digest()
