"""Sealed files: nothing opens that was changed, moved, cut short or sealed for another file."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

from low_costs import VAULT
from sfumato.core import sealing
from sfumato.core.errors import CannotUnseal, InvalidArgument, MissingExtra, StorageFailed
from sfumato.core.keys import Key
from sfumato.core.sealing import HEADER, LENGTH, MAGIC, NONCE, SALT, Seal, read_sealed, write_sealed

KEY = Key(b"a key of this test, and no other")
CONTENTS = [b"the first", b"", b"the third" * 9000]


def sealed(path: Path, key: Key = KEY) -> Path:
    seal = Seal.fresh(key)
    write_sealed(path, seal, [seal.seal(n, one) for n, one in enumerate(CONTENTS)])
    return path


def records(content: bytes) -> list[bytes]:
    """What stands behind the header, record by record, each with its length."""
    found, at = [], HEADER
    while at < len(content):
        end = at + LENGTH + int.from_bytes(content[at : at + LENGTH], "big")
        found.append(content[at:end])
        at = end
    return found


def opens(path: Path, content: bytes, key: Key = KEY) -> bool:
    """Whether a file with this content is read to its end."""
    path.write_bytes(content)
    try:
        list(read_sealed(path, key))
    except CannotUnseal:
        return False
    return True


def test_a_guess_at_a_secret_is_slow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """32 MB and a tenth of a second for each, in the package; other tests need no such thing."""
    assert VAULT == 1 << 15
    monkeypatch.setattr(sealing, "COST", VAULT)
    seal = Seal.fresh(KEY)
    salt = seal.header[len(MAGIC) : len(MAGIC) + SALT]
    room = 1 << 26
    slow = hashlib.scrypt(KEY.secret, salt=salt, n=VAULT, r=8, p=1, maxmem=room, dklen=32)
    assert seal.key == slow
    monkeypatch.setattr(sealing, "COST", 2)
    assert Seal.under(seal.header, KEY).key != slow


def test_what_is_sealed_opens_again_and_does_not_show(tmp_path: Path) -> None:
    path = sealed(tmp_path / "vault")
    assert list(read_sealed(path, KEY)) == CONTENTS
    assert path.stat().st_mode & 0o777 == 0o600
    assert b"the first" not in path.read_bytes()
    again = sealed(tmp_path / "again").read_bytes()
    assert not set(records(again)) & set(records(path.read_bytes()))
    assert KEY.secret.hex() not in repr(Seal.fresh(KEY))
    assert repr(Seal.fresh(KEY).key) not in repr(Seal.fresh(KEY))


def test_a_change_anywhere_is_refused(tmp_path: Path) -> None:
    whole = sealed(tmp_path / "vault").read_bytes()
    first = records(whole)[0]
    places = {
        "magic": 3,
        "salt": len(MAGIC),
        "salt's end": len(MAGIC) + SALT - 1,
        "run": len(MAGIC) + SALT,
        "run's end": HEADER - 1,
        "length": HEADER,
        "length's end": HEADER + LENGTH - 1,
        "nonce": HEADER + LENGTH,
        "nonce's end": HEADER + LENGTH + NONCE - 1,
        "ciphertext": HEADER + LENGTH + NONCE,
        "filling": HEADER + LENGTH + NONCE + 5000,
        "tag": HEADER + len(first) - 1,
        "a later record": HEADER + len(first) + LENGTH + NONCE + 3,
        "the end": len(whole) - 1,
    }
    for where, place in places.items():
        for bit in (0x01, 0x80):
            changed = bytearray(whole)
            changed[place] ^= bit
            assert not opens(tmp_path / "changed", bytes(changed)), where
    assert opens(tmp_path / "same", whole)


def test_records_that_are_missing_moved_doubled_or_foreign_are_refused(tmp_path: Path) -> None:
    whole = sealed(tmp_path / "vault").read_bytes()
    other = records(sealed(tmp_path / "other").read_bytes())  # the same key, another run
    head, (a, b, c, end) = whole[:HEADER], records(whole)
    wrong = {
        "cut at a record": [a, b, c],
        "cut in a record": [a, b, c[:-1]],
        "cut in a length": [a, b, c, end[:2]],
        "no record": [],
        "the first is missing": [b, c, end],
        "one is missing": [a, c, end],
        "the last is missing": [a, b, end],
        "swapped": [b, a, c, end],
        "doubled": [a, a, b, c, end],
        "foreign": [other[0], b, c, end],
        "a foreign end": [a, b, c, other[3]],
        "an early end": [a, end],
        "more": [a, b, c, end, end],
        "rubbish": [a, b, c, end, b"\0"],
        "an empty one": [b"\0" * LENGTH, a, b, c, end],
    }
    for how, content in wrong.items():
        assert not opens(tmp_path / "changed", head + b"".join(content)), how
    assert not opens(tmp_path / "changed", head[:-1])
    assert not opens(tmp_path / "changed", b"")


def test_twin_records_that_are_not_bound_to_their_place_open_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Seal, "_place", lambda *_, **__: b"")
    whole = sealed(tmp_path / "vault").read_bytes()
    head, (a, b, c, end) = whole[:HEADER], records(whole)
    monkeypatch.setattr(sealing, "_empty_out", lambda whole: whole or None)  # the end is empty
    assert opens(tmp_path / "swapped", head + b + a + c + end)
    assert opens(tmp_path / "missing", head + a + end)


def test_another_key_opens_nothing(tmp_path: Path) -> None:
    path = sealed(tmp_path / "vault")
    for wrong in (KEY.secret[:-1], KEY.secret + b"x", b"another key of 16"):
        with pytest.raises(CannotUnseal, match="its key is another one"):
            list(read_sealed(path, Key(wrong)))
    with pytest.raises(StorageFailed, match="cannot read the vault"):
        list(read_sealed(tmp_path / "none", KEY))
    with pytest.raises(StorageFailed, match="cannot read the vault"):
        list(read_sealed(tmp_path, KEY))


def test_the_size_tells_little(monkeypatch: pytest.MonkeyPatch) -> None:
    seal = Seal.fresh(KEY)

    def sizes() -> set[int]:
        return {len(seal.seal(0, b"x" * length)) for length in (0, 1, 20, 5000, 60_000)}

    assert len(sizes()) == 1
    assert len(seal.seal(0, b"x" * 70_000)) == 2 * sealing.SMALLEST + NONCE + sealing.TAG
    monkeypatch.setattr(sealing, "_fill_up", lambda content: content)  # the twin
    assert len(sizes()) == 5


def test_a_key_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    assert Key.from_environment("SOME_KEY") is None
    monkeypatch.setenv("SOME_KEY", "0123456789abcdef\n")
    found = Key.from_environment("SOME_KEY")
    assert found is not None
    assert (found.secret, found.origin) == (b"0123456789abcdef", "environment")
    assert "0123" not in repr(found)
    monkeypatch.setenv("SOME_KEY", "zanzibar")
    with pytest.raises(InvalidArgument, match="16 to 4096 bytes") as refused:
        Key.from_environment("SOME_KEY")
    assert "zanzibar" not in str(refused.value)


def test_without_the_library_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(MissingExtra, match=r"a vault needs an extra.*sfumato\[vault\]"):
        sealing.require_cipher()
