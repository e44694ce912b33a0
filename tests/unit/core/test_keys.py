"""Keys: strong when drawn, refused when short, and never where they could be read."""

from __future__ import annotations

import copy
import hashlib
import hmac
import os
import pickle
from pathlib import Path

import pytest

from low_costs import DIGEST
from sfumato.core import keys
from sfumato.core.errors import InvalidArgument, StorageFailed
from sfumato.core.keys import Key
from sfumato.core.randomness import Randomness

SECRET = b"0123456789abcdef0123456789abcdef"


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_bytes(SECRET + b"\n")
    return path


def test_a_code_is_the_keyed_hash_of_its_framed_parts() -> None:
    framed = (6).to_bytes(8, "big") + b"PERSON" + (4).to_bytes(8, "big") + "zoë".encode()
    expected = hmac.new(SECRET, framed, hashlib.sha256).hexdigest()
    assert Key(SECRET).code("PERSON", "zoë") == expected


def test_parts_are_told_apart_wherever_they_are_cut() -> None:
    key = Key(SECRET)
    assert (
        len({key.code("ab", "c"), key.code("a", "bc"), key.code("abc", ""), key.code("abc")}) == 4
    )


def test_a_guess_at_a_digest_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern or a word list is short enough to be guessed; other tests need no slow digest."""
    assert DIGEST == 1 << 14
    monkeypatch.setattr(keys, "COST", DIGEST)
    salt = keys.fresh_salt()
    slow = hashlib.scrypt(b"alpha", salt=bytes.fromhex(salt), n=1 << 14, r=8, p=1).hex()
    assert keys.salted_digest("alpha", salt) == slow
    monkeypatch.setattr(keys, "COST", 2)
    assert keys.salted_digest("alpha", salt) != slow


def test_fresh_keys_differ_and_have_256_bits() -> None:
    keys = [Key.fresh() for _ in range(50)]
    assert len({key.secret for key in keys}) == 50
    assert {len(key.secret) for key in keys} == {32}
    assert not any(key.lasts for key in keys)


def test_a_seed_gives_the_same_key_and_another_seed_another() -> None:
    one, two, other = (Key.from_seed(Randomness.reproducible(seed)) for seed in (3, 3, 4))
    assert one.secret == two.secret != other.secret
    assert len(one.secret) == 32
    assert (one.origin, one.lasts) == ("seed", True)


def test_a_file_without_the_line_break_at_its_end(key_file: Path) -> None:
    key = Key.from_file(key_file)
    assert (key.secret, key.origin, key.lasts) == (SECRET, "file", True)


@pytest.mark.parametrize("content", [b"", b"short", b"fifteen bytes..\n", b"x" * 4097])
def test_a_short_or_endless_key_is_refused_and_not_shown(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "key").write_bytes(content)
    with pytest.raises(InvalidArgument, match="16 to 4096 bytes") as caught:
        Key.from_file(tmp_path / "key")
    assert content[:5].decode() not in str(caught.value).replace(str(tmp_path), "") or not content


def test_sixteen_bytes_are_enough(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"sixteen bytes...")
    assert Key.from_file(tmp_path / "key").secret == b"sixteen bytes..."


def test_what_is_not_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match="No such file"):
        Key.from_file(tmp_path / "none")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(StorageFailed, match="not an ordinary file"):
            Key.from_file(path)


def test_no_representation_and_no_copy_holds_the_secret(key_file: Path) -> None:
    for key in (Key.fresh(), Key.from_file(key_file), Key(SECRET)):
        assert repr(key.secret)[2:-1] not in repr(key)
        assert key.secret.hex() not in repr(key)
        assert key.secret not in pickle.dumps(key)
    fresh = Key.fresh()
    for made in (pickle.loads(pickle.dumps(fresh)), copy.deepcopy(fresh)):
        assert made.secret != fresh.secret
    kept = pickle.loads(pickle.dumps(Key.from_file(key_file)))
    assert (kept.secret, kept.origin) == (SECRET, "file")
