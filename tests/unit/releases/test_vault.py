"""Vaults: what was privatized comes back, exactly where it stood; and no original lies about."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato.core.errors import (
    BadInput,
    CannotUnseal,
    InvalidArgument,
    MissingExtra,
    OutputExists,
    SfumatoError,
    StorageFailed,
)
from sfumato.core.sealing import NONCE, Seal
from sfumato.mechanisms.pseudonym import CODE, VAULT_LEAK, normalize_entity
from sfumato.releases.places import Places
from sfumato.releases.restoring import Table
from sfumato.releases.vault import Vault
from sfumato.text.document import Document
from sfumato.text.edits import Edit, Edited

NAME = "Zyxquorthane"
TEXTS = [
    f"Ask {NAME} or {NAME.upper()}’s friend; “{NAME}”, said [PERSON-3f2a9c04be71].",
    "Nobody is here.",
    "",
    f'{NAME}’s note: a "quoted" line,\twith a tab',
    f"é {NAME.lower()}, {NAME}",
]
POLICY: dict[str, Any] = {"policy": f"regex:(?i){NAME}", "mechanism": "pseudonym"}


@pytest.fixture(autouse=True)
def no_key_around(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SFUMATO_VAULT_KEY", raising=False)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_bytes(b"the key of this test's vault 42\n")
    return path


def write(path: Path) -> Path:
    kind = path.suffix.removeprefix(".")
    if kind == "parquet":
        pq.write_table(pa.table({"text": TEXTS, "n": ["1.50"] * len(TEXTS)}), path)
        return path
    stream = io.StringIO(newline="")
    if kind == "txt":
        stream.write("\r\n".join(TEXTS))
    elif kind == "jsonl":
        lines = ({"n": 1.50, "text": text, "more": {"a": [text, None]}} for text in TEXTS)
        stream.writelines(json.dumps(line) + "\n" for line in lines)
    elif kind == "csv":
        csv.writer(stream).writerows([["text", "n"], *([text, "1.50"] for text in TEXTS)])
    else:  # nothing is quoted there
        rows = ["text\tn", *(text.translate({9: " ", 34: "'"}) + "\t1.50" for text in TEXTS)]
        stream.write("\n".join(rows) + "\n")
    path.write_bytes(stream.getvalue().encode())
    return path


def read(path: Path) -> Any:
    """What a file means, however it is spelled."""
    kind = path.suffix.removeprefix(".")
    if kind == "parquet":
        return pq.read_table(path).to_pylist()
    text = path.read_bytes().decode()
    if kind == "txt":
        return text
    if kind == "jsonl":
        return [json.loads(line) for line in text.splitlines()]
    return list(csv.reader(io.StringIO(text))) if kind == "csv" else text


@pytest.mark.parametrize(
    ("kind", "workers"),
    [("txt", 1), ("jsonl", 1), ("jsonl", 2), ("csv", 1), ("tsv", 1), ("parquet", 1)],
)
def test_what_was_privatized_comes_back(tmp_path: Path, key: Path, kind: str, workers: int) -> None:
    source = write(tmp_path / f"in.{kind}")
    out, back, vault = (tmp_path / name for name in (f"out.{kind}", f"back.{kind}", "v"))
    field = ["text", "more.a[]"] if kind == "jsonl" else "text"
    release = sfumato.privatize(
        source, out, field=field, vault=vault, vault_key=key, workers=workers, **POLICY
    )
    assert NAME.lower().encode() not in out.read_bytes().lower()
    restored = sfumato.restore(release, back, vault=vault, vault_key=key)
    assert read(back) == read(source)
    assert restored.exact
    assert (restored.restored, restored.unknown) == ((12, 2) if kind == "jsonl" else (6, 1))
    assert [path.stat().st_mode & 0o777 for path in (vault, back)] == [0o600, 0o600]
    assert NAME not in repr(restored) + repr(Vault.of(vault, key))
    assert not list(tmp_path.glob("*.restoring"))
    assert not back.with_name(back.name + ".guarantee.json").exists()


def test_the_guarantee_says_it_and_without_a_vault_nothing_is_kept(
    tmp_path: Path, key: Path
) -> None:
    source = write(tmp_path / "in.txt")
    with_vault = sfumato.privatize(
        source, tmp_path / "a.txt", vault=tmp_path / "v", vault_key=key, **POLICY
    )
    assert VAULT_LEAK in with_vault.guarantee.leaks
    assert VAULT_LEAK in "\n".join(with_vault.lines)
    assert with_vault.summary["settings"]["vault"] is True
    without = sfumato.privatize(source, tmp_path / "b.txt", **POLICY)
    assert VAULT_LEAK not in without.guarantee.leaks
    assert "vault" not in without.summary["settings"]
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"in.txt", "key", "v"} | {
        f"{one}.txt{side}" for one in "ab" for side in ("", ".guarantee.json")
    }


def test_in_a_table_by_type_pseudonyms_are_undone_and_nothing_else(
    tmp_path: Path, key: Path
) -> None:
    source, out, back = (tmp_path / name for name in ("in.txt", "out.txt", "back.txt"))
    source.write_text("Ask Ada Lovelace at ada@example.org.\n")
    release = sfumato.privatize(
        source, out, by_type={"PERSON": "pseudonym", "EMAIL": "redact"},
        vault=tmp_path / "v", vault_key=key,
    )  # fmt: skip
    assert VAULT_LEAK in release.guarantee.leaks
    assert sfumato.restore(out, back, vault=tmp_path / "v", vault_key=key).exact
    assert back.read_text() == "Ask Ada Lovelace at [EMAIL].\n"


def test_an_edited_text_gets_the_first_spelling_and_unknown_codes_stay(
    tmp_path: Path, key: Path
) -> None:
    source, out, back = write(tmp_path / "in.txt"), tmp_path / "out.txt", tmp_path / "back.txt"
    vault = tmp_path / "v"
    sfumato.privatize(source, out, vault=vault, vault_key=key, **POLICY)
    lines = out.read_text().splitlines()
    code = CODE.findall(lines[-1])[0]
    edited = tmp_path / "edited.txt"
    edited.write_text(f"{lines[-1]}\nDear {code}! [PERSON-000000000000] [{code}\n")
    restored = sfumato.restore(edited, back, vault=vault, vault_key=key)
    assert not restored.exact
    assert (restored.restored, restored.unknown) == (4, 1)
    assert back.read_text() == (f"é {NAME}, {NAME}\nDear {NAME}! [PERSON-000000000000] [{NAME}\n")
    assert "first spelling" in repr(restored)


def test_a_code_of_two_texts_is_not_guessed(tmp_path: Path) -> None:
    class Twice:
        def places(self) -> list[Places]:
            shared, own = "[PERSON-aaaaaaaaaaaa]", "[PERSON-bbbbbbbbbbbb]"
            return [
                Places(((shared, "Ada"), (own, "Bo"), (own, None))),
                Places(((own, "BO"), (shared, "Eve"))),
            ]

    table = Table.of(Twice())  # type: ignore[arg-type]
    assert table.find("[PERSON-bbbbbbbbbbbb]") == "Bo"
    assert table.find("[PERSON-aaaaaaaaaaaa]") is None
    assert "Ada" not in repr(table)


PIECE = st.one_of(
    st.text(max_size=6),
    st.sampled_from(["[", "]", "[A-", "-", "[X-0123456789ab]", "0123456789ab]", "[[", "\u0301"]),
)


@given(st.lists(st.tuples(PIECE, st.booleans()), max_size=12))
def test_places_lose_no_code_whatever_stands_around_it(pieces: list[tuple[str, bool]]) -> None:
    text, edits, start = "".join(piece for piece, _ in pieces), [], 0
    for piece, selected in pieces:
        if selected and piece:
            code = hashlib.sha256(normalize_entity(piece).encode("utf-8", "replace")).hexdigest()[
                :12
            ]
            edits.append(Edit(start, start + len(piece), f"[É_x-{code}]"))
        start += len(piece)
    edited = Edited.of(text, edits)
    places = Places.of([_Text(text)], [edited])  # type: ignore[list-item]
    assert Places.read(places.spelled()) == places
    items = iter(places.items)

    def put_back(_: Any) -> str:
        code, original = next(items)
        return code if original is None else original

    assert CODE.sub(put_back, edited.text) == text
    assert next(items, None) is None


class _Text:
    """A document of any text."""

    def __init__(self, text: str) -> None:
        self.text = text


def test_a_document_is_one_of_these() -> None:
    assert Places.of([Document("a")], [Edited("a")]) == Places(())


# --- what lies on the disk -----------------------------------------------------------------------


def spellings(name: str) -> set[bytes]:
    """A name as it may be found in a file: plain, in capitals or not, encoded, or as digits."""
    found = set()
    for one in (name, name.upper(), name.lower()):
        plain = one.encode()
        found |= {plain, plain.hex().encode(), one.encode("utf-16-le"), plain[::-1]}
        # The middle of it, whatever stands before it.
        found |= {base64.b64encode(b"_" * before + plain)[4:-4] for before in range(3)}
    return found


def originals_in(folder: Path) -> set[str]:
    """The files of a folder in which the name can be read."""
    wanted = spellings(NAME)
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and any(one in path.read_bytes() for one in wanted)
    }


def watched(folder: Path, run: Callable[[], object], patch: pytest.MonkeyPatch) -> set[str]:
    """Where the name could be read at any time of a run: it is looked for at every writing."""
    seen: set[str] = set()
    looks = []
    honest = os.fsync

    def look(number: int) -> None:
        honest(number)
        looks.append(1)
        seen.update(originals_in(folder))

    patch.setattr(os, "fsync", look)
    with suppress(SfumatoError):
        run()
    seen.update(originals_in(folder))
    assert len(looks) > 4
    return seen


@pytest.fixture
def job(tmp_path: Path, key: Path) -> Callable[[], object]:
    source = tmp_path / "in.jsonl"
    source.write_text(
        "".join(json.dumps({"text": f"{n} of {NAME} " + "-" * 2000}) + "\n" for n in range(400))
    )
    (tmp_path / "run").mkdir()
    return lambda: sfumato.privatize(
        source,
        tmp_path / "run" / "out.jsonl",
        vault=tmp_path / "run" / "v",
        vault_key=key,
        **POLICY,
    )


def test_no_original_is_on_the_disk_at_any_time(
    job: Callable[[], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert watched(tmp_path / "run", job, monkeypatch) == set()
    assert (tmp_path / "run" / "v").exists()


def in_the_clear(self: Seal, number: int, content: bytes) -> bytes:
    return b"\0" * NONCE + content


def in_base64(self: Seal, number: int, content: bytes) -> bytes:
    return base64.b64encode(content)


@pytest.mark.parametrize("careless", [in_the_clear, in_base64])
def test_twin_a_vault_in_the_clear_is_seen(
    careless: Any, job: Callable[[], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Seal, "seal", careless)
    assert "out.jsonl.parts/00000000.vault" in watched(tmp_path / "run", job, monkeypatch)


# --- what is refused -----------------------------------------------------------------------------


def test_a_wrong_key_or_a_damaged_vault_writes_nothing(tmp_path: Path, key: Path) -> None:
    source, out, vault = write(tmp_path / "in.txt"), tmp_path / "out.txt", tmp_path / "v"
    sfumato.privatize(source, out, vault=vault, vault_key=key, **POLICY)
    other = tmp_path / "other"
    other.write_bytes(b"another key, as good as the first")
    before = {path.name for path in tmp_path.iterdir()}
    with pytest.raises(CannotUnseal, match="its key is another one"):
        sfumato.restore(out, tmp_path / "back.txt", vault=vault, vault_key=other)
    whole = vault.read_bytes()
    changed = whole[:99] + bytes([whole[99] ^ 1]) + whole[100:]
    for damaged in (whole[:-1], whole[:-40], whole[:200], changed, b"x"):
        vault.write_bytes(damaged)
        with pytest.raises(BadInput, match="cannot open the vault") as refused:
            sfumato.restore(out, tmp_path / "back.txt", vault=vault, vault_key=key)
        assert NAME not in str(refused.value)
    vault.unlink()
    with pytest.raises(StorageFailed, match="cannot read the vault"):
        sfumato.restore(out, tmp_path / "back.txt", vault=vault, vault_key=key)
    assert {path.name for path in tmp_path.iterdir()} == before - {"v"}


@pytest.mark.parametrize(
    "other",
    [
        {"mechanism": "redact"},
        {"mechanism": "surrogate"},
        {"mechanism": "auto"},
        {"mechanism": "laplace", "epsilon": 5.0},
        {"mechanism": "redact", "by_type": {"DATE": "date:epsilon=0.05"}},
    ],
)
def test_only_pseudonyms_have_a_vault(tmp_path: Path, key: Path, other: dict[str, Any]) -> None:
    source = write(tmp_path / "in.txt")
    with pytest.raises(InvalidArgument, match=r"`vault=\.\.\.` undoes pseudonyms"):
        sfumato.privatize(source, tmp_path / "o.txt", vault=tmp_path / "v", vault_key=key, **other)
    assert {path.name for path in tmp_path.iterdir()} == {"in.txt", "key"}


def test_places_that_are_taken_are_refused(tmp_path: Path, key: Path) -> None:
    source, out = write(tmp_path / "in.txt"), tmp_path / "out.txt"

    def run(vault: Path, output: Path = out, **more: Any) -> object:
        return sfumato.privatize(source, output, vault=vault, vault_key=key, **POLICY, **more)

    side = tmp_path / "out.txt.guarantee.json"
    for vault in (source, out, side, tmp_path / "out.txt.parts"):
        with pytest.raises(OutputExists):
            run(vault)
    with pytest.raises(InvalidArgument, match="two files"):
        run(key)
    with pytest.raises(InvalidArgument, match="needs an output file, not a pipe"):
        run(tmp_path / "v", Path("-"))
    important = tmp_path / "important"
    important.write_text("mine")
    with pytest.raises(OutputExists, match="exists already"):
        run(important)
    with pytest.raises(OutputExists, match="is no vault"):
        run(important, overwrite=True)
    assert important.read_text() == "mine"
    run(tmp_path / "v")
    first = (tmp_path / "v").read_bytes()
    with pytest.raises(OutputExists, match="exists already"):
        run(tmp_path / "v", tmp_path / "second.txt")
    assert (tmp_path / "v").read_bytes() == first
    run(tmp_path / "v", overwrite=True)
    assert (tmp_path / "v").read_bytes() != first
    for target in (out, tmp_path / "v"):
        with pytest.raises(OutputExists):
            sfumato.restore(out, target, vault=tmp_path / "v", vault_key=key, overwrite=True)


def test_a_restored_file_does_not_stand_beside_an_old_guarantee(tmp_path: Path, key: Path) -> None:
    source, out, old = write(tmp_path / "in.txt"), tmp_path / "out.txt", tmp_path / "old.txt"
    sfumato.privatize(source, out, vault=tmp_path / "v", vault_key=key, **POLICY)
    sfumato.privatize(source, old, **POLICY)
    old.unlink()
    with pytest.raises(OutputExists, match=r"says that old\.txt is privatized"):
        sfumato.restore(out, old, vault=tmp_path / "v", vault_key=key)
    sfumato.restore(out, old, vault=tmp_path / "v", vault_key=key, overwrite=True)
    assert not (tmp_path / "old.txt.guarantee.json").exists()


def test_the_key_is_in_a_file_or_in_the_environment(
    tmp_path: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out, vault = write(tmp_path / "in.txt"), tmp_path / "out.txt", tmp_path / "v"
    with pytest.raises(InvalidArgument, match="SFUMATO_VAULT_KEY"):
        sfumato.privatize(source, out, vault=vault, **POLICY)
    with pytest.raises(InvalidArgument, match="name one by"):
        sfumato.privatize(source, out, vault_key=key, **POLICY)
    monkeypatch.setenv("SFUMATO_VAULT_KEY", key.read_text().strip())
    sfumato.privatize(source, out, vault=vault, **POLICY)
    monkeypatch.delenv("SFUMATO_VAULT_KEY")
    sfumato.restore(out, tmp_path / "back.txt", vault=vault, vault_key=key)
    assert (tmp_path / "back.txt").read_bytes() == source.read_bytes()


def test_the_missing_library_is_named_before_anything_is_written(
    tmp_path: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(MissingExtra, match=r"sfumato\[vault\]"):
        sfumato.privatize(
            write(tmp_path / "in.txt"), tmp_path / "o.txt", vault="v", vault_key=key, **POLICY
        )
    assert {path.name for path in tmp_path.iterdir()} == {"in.txt", "key"}


def test_letters_that_the_file_cannot_have_are_refused(tmp_path: Path, key: Path) -> None:
    source, out = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("Ask Zoë.\n", encoding="utf-8")
    sfumato.privatize(
        source, out, policy="regex:Zoë", mechanism="pseudonym", vault=tmp_path / "v", vault_key=key
    )
    with pytest.raises(BadInput, match="letters that ascii lacks"):
        sfumato.restore(
            out, tmp_path / "back.txt", vault=tmp_path / "v", vault_key=key, encoding="ascii"
        )
    assert not (tmp_path / "back.txt").exists()
