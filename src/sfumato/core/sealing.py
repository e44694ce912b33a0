"""Sealed records in a file: encrypted, and bound to their file, their place and their number.

Guarantee
    Without the key nobody reads a record or exchanges one for another unnoticed. A byte that was
    changed, a record that is missing, doubled, moved or taken from another file, and a file that
    was cut short are all refused. Nothing of a record is handed on before it was checked.

Why it holds
    The cipher is AES-256-GCM of the library ``cryptography``, with a fresh random nonce of 96 bits
    for each record. A file has a random salt of its own, and with it a key of its own (scrypt of
    the secret and the salt), so a key seals few records: repeating a nonce among 2^20 of them has
    a probability of about 2^-57. The header, the number of a record and whether it is the last one
    are authenticated with it. So a record opens in its own file and at its own place only. The last
    one is empty and says that there are no more.

What shows
    That it is a vault, how many records there are, and how large each is. A record is filled up to
    a power of two, at least 64 KiB: its size tells little about the length of what is in it.

What does not hold
    A secret that can be guessed protects nothing: scrypt makes a guess slow, and that is all. An
    older state of the whole file, sealed with the same secret, cannot be told from a newer one.

Reference
    NIST SP 800-38D (GCM). Percival 2009 (scrypt). Marking the last record is what Hoang,
    Reyhanitabar, Rogaway and Vizár 2015, "Online authenticated-encryption and its nonce-reuse
    misuse-resistance", do against files that were cut short.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from sfumato.core.checks import extra
from sfumato.core.errors import BadInput, CannotUnseal, SfumatoError, StorageFailed
from sfumato.core.files import replace_file
from sfumato.core.keys import Key

MAGIC = b"sfumato vault 1\n"
SALT, RUN, NONCE, TAG, LENGTH, NUMBER = 32, 16, 12, 16, 4, 8  # bytes
HEADER = len(MAGIC) + SALT + RUN
SMALLEST, LARGEST = 1 << 16, 1 << 30  # of what is sealed, filled up
COST = 1 << 15  # of scrypt: about 32 MB and a tenth of a second for each guess


@dataclass(frozen=True, eq=False)
class Seal:
    """What seals and opens the records of one file."""

    header: bytes
    key: bytes = field(repr=False)

    @classmethod
    def fresh(cls, secret: Key) -> Seal:
        """For a new file."""
        return cls.under(MAGIC + secrets.token_bytes(SALT + RUN), secret)

    @classmethod
    def under(cls, header: bytes, secret: Key) -> Seal:
        """For a file that has its header already."""
        if len(header) != HEADER or not header.startswith(MAGIC):
            raise CannotUnseal("it is not a vault, or one of another version")
        salt = header[len(MAGIC) : len(MAGIC) + SALT]
        kdf = _scrypt().Scrypt(salt=salt, length=32, n=COST, r=8, p=1)
        return cls(header, kdf.derive(secret.secret))

    def seal(self, number: int, content: bytes) -> bytes:
        """The record of this number, as it is written."""
        return self._seal(number, _fill_up(content), last=False)

    def seal_end(self, count: int) -> bytes:
        """What stands behind the last of so many records."""
        return self._seal(count, b"", last=True)

    def unseal(self, number: int, sealed: bytes) -> bytes | None:
        """What is in the record of this number; None if the file ends with it."""
        opened = self._open(number, sealed, last=False)
        if opened is not None:
            return _empty_out(opened)
        if self._open(number, sealed, last=True) is None:
            raise CannotUnseal(
                "its key is another one, or it is damaged"
                if number == 0
                else f"it is damaged: record {number + 1} was changed, exchanged or moved"
            )
        return None

    def _seal(self, number: int, content: bytes, *, last: bool) -> bytes:
        nonce = secrets.token_bytes(NONCE)
        place = self._place(number, last=last)
        sealed: bytes = _ciphers().AESGCM(self.key).encrypt(nonce, content, place)
        return nonce + sealed

    def _open(self, number: int, sealed: bytes, *, last: bool) -> bytes | None:
        nonce, rest = sealed[:NONCE], sealed[NONCE:]
        if len(rest) < TAG:
            return None
        try:
            opened: bytes = (
                _ciphers().AESGCM(self.key).decrypt(nonce, rest, self._place(number, last=last))
            )
        except _errors().InvalidTag:
            return None
        return opened

    def _place(self, number: int, *, last: bool) -> bytes:
        return self.header + number.to_bytes(NUMBER, "big") + (b"\x01" if last else b"\x00")


def require_cipher() -> None:
    """Say now that the library is missing, if it is, and not when there is something to lose."""
    _ciphers()


def is_sealed(path: Path) -> bool:
    """Whether a file begins as a sealed one does."""
    with path.open("rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC


def header_of(path: Path) -> bytes:
    """What a sealed file begins with."""
    with path.open("rb") as stream:
        return stream.read(HEADER)


def write_sealed(path: Path, seal: Seal, records: Iterable[bytes]) -> None:
    """A file of sealed records, for the eyes of its owner; whole or not at all."""
    with replace_file(path, private=True) as stream:
        stream.write(seal.header)
        count = 0
        for record in records:
            _write_record(stream, record)
            count += 1
        _write_record(stream, seal.seal_end(count))


def read_sealed(path: Path, secret: Key) -> Generator[bytes]:
    """What is in each record; whoever reads to the end knows that the file is whole."""
    try:
        with path.open("rb") as stream:
            seal = Seal.under(stream.read(HEADER), secret)
            size = os.fstat(stream.fileno()).st_size
            number = 0
            while (content := seal.unseal(number, _read_record(stream, size))) is not None:
                yield content
                number += 1
            if stream.read(1):
                raise CannotUnseal("it is damaged: something stands behind its end")
    except CannotUnseal as error:
        raise CannotUnseal(f"cannot open the vault {path}: {error}") from None
    except SfumatoError:
        raise
    except OSError as error:
        raise StorageFailed(f"cannot read the vault {path}: {error.strerror}") from None


def _write_record(stream: BinaryIO, record: bytes) -> None:
    stream.write(len(record).to_bytes(LENGTH, "big") + record)


def _read_record(stream: BinaryIO, size: int) -> bytes:
    length = stream.read(LENGTH)
    if len(length) < LENGTH:
        raise CannotUnseal("it is damaged: its end is missing")
    wanted = int.from_bytes(length, "big")
    # Whoever changed the length must not make us ask for gigabytes.
    if stream.tell() + wanted > size:
        raise CannotUnseal("it is damaged: a record is longer than what is left")
    return stream.read(wanted)


def _fill_up(content: bytes) -> bytes:
    """The content after its length, and zeros up to a power of two."""
    whole = len(content).to_bytes(NUMBER, "big") + content
    size = max(SMALLEST, 1 << (len(whole) - 1).bit_length())
    if size > LARGEST:
        raise BadInput("a document has too many pseudonyms for a vault; cut it into several")
    return whole.ljust(size, b"\0")


def _empty_out(whole: bytes) -> bytes:
    return whole[NUMBER : NUMBER + int.from_bytes(whole[:NUMBER], "big")]


def _ciphers() -> Any:
    return extra("cryptography.hazmat.primitives.ciphers.aead", needed_for="a vault", extra="vault")


def _scrypt() -> Any:
    return extra("cryptography.hazmat.primitives.kdf.scrypt", needed_for="a vault", extra="vault")


def _errors() -> Any:
    return extra("cryptography.exceptions", needed_for="a vault", extra="vault")
