"""Undoing pseudonyms with a vault: each code becomes what it stands for, all else stays.

What is restored
    Where a file has the same codes in the same order as when it was privatized, each place gets
    back the very characters that stood there. In a file that was edited, cut or answered by
    somebody, a code gets back the first spelling that stood for it ("Ada Lovelace" for "ADA
    LOVELACE's", too). Escapes and quotes of a file are written as the format writes them, and
    columns that were dropped are not in the vault.

    A code that the vault does not know stays as it is, and is counted. So does a code that stands
    for two different texts, in a file that was edited: nobody can tell which one is meant.

The whole vault is checked before anything is written. What is written is private text again: its
file is for the eyes of its owner, and no guarantee stands beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from sfumato.core.errors import BadInput, InputChanged, OutputExists, StorageFailed
from sfumato.core.files import write_whole
from sfumato.core.progress import progress
from sfumato.files.formats import join_chunks
from sfumato.files.output import is_stream, write_corpus
from sfumato.files.source import Source
from sfumato.mechanisms.pseudonym import CODE, normalize_entity
from sfumato.releases.vault import Vault
from sfumato.text.edits import Edit, Edited

Find = Callable[[str], str | None]


@dataclass(frozen=True)
class Restored:
    """What came of restoring a file.

    ``exact`` tells that each place got back its own spelling. ``unknown`` counts the codes that
    stayed.
    """

    path: Path
    restored: int
    unknown: int
    exact: bool

    @property
    def lines(self) -> list[str]:
        """What to tell people: how many, how well, and what the file is now."""
        found = [f"{self.restored:,} pseudonyms undone"]
        if self.unknown:
            found.append(f"{self.unknown:,} codes stayed: the vault says nothing about them")
        if self.restored and not self.exact:
            found.append(
                "the codes are not in the order in which they were written, so each got back the "
                "first spelling that stood for it"
            )
        return [*found, "PRIVATE TEXT AGAIN: NOT FOR RELEASE"]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "path": str(self.path),
            "restored": self.restored,
            "unknown": self.unknown,
            "exact": self.exact,
        }

    def __repr__(self) -> str:
        return "\n".join([f"Restored({str(self.path)!r})", *self.lines])


@dataclass
class Table:
    """What each code stands for: the first spelling of it."""

    first: dict[str, str] = field(default_factory=dict, repr=False)
    doubtful: set[str] = field(default_factory=set, repr=False)

    @classmethod
    def of(cls, vault: Vault) -> Table:
        """All of a vault, which is refused if any of it is damaged."""
        table = cls()
        for places in vault.places():
            for code, text in places.items:
                if text is None:
                    continue
                known = table.first.setdefault(code, text)
                if known != text and normalize_entity(known) != normalize_entity(text):
                    table.doubtful.add(code)
        return table

    def find(self, code: str) -> str | None:
        """What stands for a code wherever it is; None where that cannot be told."""
        return None if code in self.doubtful else self.first.get(code)


def restore_file(source: Source, target: Path, vault: Vault, *, overwrite: bool) -> Restored:
    """Write a file in which pseudonyms are undone."""
    _refuse(source, target, vault, overwrite=overwrite)
    table = Table.of(vault)
    source = source.settled()
    exact = not source.is_stream and _as_written(source, vault)
    find = _by_place(vault) if exact else table.find
    counts: Counter[str] = Counter()
    with (
        write_corpus(target, overwrite=overwrite, private=True) as output,
        closing(_rewritten(source, find, counts)) as pieces,
    ):
        if source.format.assemble is join_chunks:
            for piece in pieces:
                output.write(piece)
        else:
            with closing(_one_by_one(pieces, target)) as parts:
                source.format.assemble(parts, output)
        if not is_stream(target):
            # The file is not what an old guarantee beside it speaks of.
            _side(target).unlink(missing_ok=True)
    return Restored(target, counts["restored"], counts["unknown"], exact)


def _refuse(source: Source, target: Path, vault: Vault, *, overwrite: bool) -> None:
    source.refuse_unused()
    if source.path is not None and not source.path.exists():
        raise StorageFailed(f"cannot read {source.path}: no such file")
    if is_stream(target):
        if source.format.assemble is not join_chunks:
            raise StorageFailed(
                f"{source.format.name} cannot be written to a pipe; name an output file"
            )
        return
    for other in (source.path, vault.path):
        if other is not None and target.resolve() == other.resolve():
            raise OutputExists(f"{target} is the input or the vault; write to another file")
    if _side(target).exists() and not overwrite:
        raise OutputExists(
            f"{_side(target)} says that {target.name} is privatized; name another file, or "
            "`overwrite=True` removes it"
        )


def _side(target: Path) -> Path:
    return target.with_name(target.name + ".guarantee.json")


def _as_written(source: Source, vault: Vault) -> bool:
    """Whether the file has all the codes of the vault in their order, and no others."""
    with closing(_codes(source)) as here, closing(_items(vault)) as there:
        return all(
            code is not None and item is not None and code == item[0]
            for code, item in zip_longest(here, there)
        )


def _codes(source: Source) -> Generator[str]:
    for document in source.documents():
        yield from CODE.findall(document.text)


def _items(vault: Vault) -> Generator[tuple[str, str | None]]:
    for places in vault.places():
        yield from places.items


def _by_place(vault: Vault) -> Find:
    """What stands for each code that comes, one after the other."""
    items = _items(vault)

    def find(code: str) -> str | None:
        known, text = next(items, (None, None))
        if known != code:
            raise InputChanged("the file was changed while it was read; start again")
        return text

    return find


def _rewritten(source: Source, find: Find, counts: Counter[str]) -> Generator[bytes]:
    stamp = source.stamp()
    with progress("restoring", source.size) as advance, source.opened() as (chunks, place):
        for chunk in source.steady(chunks, stamp):
            texts = [document.text for document in chunk.documents()]
            edited = [Edited.of(text, _edits(text, find, counts)) for text in texts]
            _refuse_unwritable(edited, source.layout.encoding)
            yield chunk.rewritten(edited)
            advance(place())


def _edits(text: str, find: Find, counts: Counter[str]) -> Iterator[Edit]:
    for code in CODE.finditer(text):
        original = find(code.group())
        counts["unknown" if original is None else "restored"] += 1
        if original is not None:
            yield Edit(code.start(), code.end(), original)


def _refuse_unwritable(edited: Iterable[Edited], encoding: str) -> None:
    """A letter that the encoding of the file lacks would become a question mark."""
    try:
        for one in edited:
            for edit in one.edits:
                edit.replacement.encode(encoding)
    except UnicodeEncodeError:
        unwritable = True
    else:
        unwritable = False
    if unwritable:  # outside the except block: the error carries the text along
        raise BadInput(f"the vault has letters that {encoding} lacks; convert the file to utf-8")


def _one_by_one(pieces: Iterable[bytes], target: Path) -> Generator[Path]:
    """Each piece as a file, for formats that are put together of files; there is one at a time."""
    path = target.with_name(target.name + ".restoring")
    try:
        for piece in pieces:
            write_whole(path, piece, private=True)
            yield path
    finally:
        path.unlink(missing_ok=True)
