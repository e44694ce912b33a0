"""A store of token scores, in memory and, if wanted, in a folder.

Care
    Scores are measured on private text and say something about it: how many tokens a document has,
    and with the model at hand which tokens they may be. So the folder is never made inside that of
    a run, which is meant to be given away; it is made for its owner only, and what it holds is as
    private as the text. Texts themselves are not kept: a document is found by a hash under a key
    that was drawn for the folder.
"""

from __future__ import annotations

import hashlib
import secrets
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.model_target import is_run
from sfumato.core.errors import InvalidArgument, StorageFailed
from sfumato.core.files import replacing, write_first

Arrays = tuple[NDArray[np.float32], ...]

_KEY_BYTES = 32
_README = """Token scores that attacks have measured on private text.
They are as private as that text: do not give this folder away with the model.
It may be deleted at any time; scores are then measured again.
"""


@dataclass(eq=False)
class ScoreStore:
    """Arrays by model and text; ``folder`` keeps them for the next time.

    >>> store = ScoreStore()
    >>> store.add("model", ["a text"], [(np.zeros(3, np.float32),)])
    >>> store.has("model", "a text"), store.has("another", "a text")
    (True, False)
    """

    folder: Path | None = None
    _key: bytes = field(default=b"", init=False, repr=False)
    _found: dict[bytes, Arrays] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self._key = secrets.token_bytes(_KEY_BYTES)
        if self.folder is not None:
            try:
                self._open(self.folder)
            except OSError as error:
                problem = error.strerror or "opening failed"
                raise StorageFailed(
                    f"cannot use the cache {self.folder}: {problem}; --cache names another folder, "
                    "--no-cache keeps nothing"
                ) from None

    def has(self, model: str, text: str) -> bool:
        """Whether the scores of a text under a model are here."""
        return self._name(model, text) in self._found

    def get(self, model: str, text: str) -> Arrays:
        """The scores of a text that is here."""
        return self._found[self._name(model, text)]

    def add(self, model: str, texts: Sequence[str], arrays: Sequence[Arrays]) -> None:
        """Keep the scores of some texts."""
        new = {
            self._name(model, text): tuple(np.asarray(part, np.float32) for part in of_text)
            for text, of_text in zip(texts, arrays, strict=True)
        }
        self._found.update(new)
        if self.folder is not None and new:
            self._save(self.folder / f"{secrets.token_hex(8)}.npz", new)

    def _name(self, model: str, text: str) -> bytes:
        # The length stands before the text, so that no other pair gives the same bytes.
        content = f"{len(model)}:{model}{text}".encode()
        return hashlib.blake2b(content, key=self._key, digest_size=16).digest()

    def _open(self, folder: Path) -> None:
        if run := run_around(folder):
            raise InvalidArgument(
                f"the cache {folder} would lie in the run {run}, which is meant to be given away; "
                "choose a folder outside of it"
            )
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        key = folder / "key"
        # Without all of its key, names would confirm a guess at a text.
        if key.is_file() and key.stat().st_size != _KEY_BYTES:
            key.unlink()
        if not key.is_file():
            write_first(folder / "README", _README.encode())
            # The folder may be one that others can look into.
            write_first(key, self._key, private=True)
        self._key = key.read_bytes()
        for path in sorted(folder.glob("*.npz")):
            self._found.update(_loaded(path))

    def _save(self, path: Path, new: dict[bytes, Arrays]) -> None:
        parts = zip(*new.values(), strict=True)
        columns: dict[str, Any] = {
            f"part{place}": np.concatenate(part) for place, part in enumerate(parts)
        }
        try:
            with replacing(path, private=True) as stream:
                np.savez(
                    stream,
                    names=np.frombuffer(b"".join(new), dtype=np.uint8),
                    lengths=np.array([len(one[0]) for one in new.values()], dtype=np.int64),
                    **columns,
                )
        except OSError as error:
            problem = error.strerror or "writing failed"
            raise StorageFailed(f"cannot write {path}: {problem}") from None


def run_around(folder: Path) -> Path | None:
    """The run in whose folder a path lies, if it lies in one."""
    whole = folder.resolve()
    return next((one for one in (whole, *whole.parents) if is_run(one)), None)


def _loaded(path: Path) -> dict[bytes, Arrays]:
    """The content of one file; a damaged one counts as missing and is measured again."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as content:
            return _taken_apart(content)
    except (OSError, ValueError, KeyError, TypeError, EOFError, NotImplementedError):
        return {}
    except zipfile.BadZipFile:
        return {}


def _taken_apart(content: Any) -> dict[bytes, Arrays]:
    names, lengths = content["names"].tobytes(), content["lengths"]
    parts = [content[f"part{place}"] for place in range(len(content.files) - 2)]
    if not parts or (lengths < 0).any() or any(len(one) != lengths.sum() for one in parts):
        raise ValueError  # as for any other damage
    columns = [np.split(one, np.cumsum(lengths)[:-1]) for one in parts]
    keys = [names[start : start + 16] for start in range(0, len(names), 16)]
    return dict(zip(keys, zip(*columns, strict=True), strict=True))
