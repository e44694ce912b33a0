"""The probability of every token of a text under a model: measured once, used by all attacks.

For each predicted token three numbers are kept: ln p of the token, and the mean and the standard
deviation of ln p over the whole vocabulary at that position (Min-K%++ needs them). Documents are
read as in training: from the beginning, in pieces if they are longer than the context.

A store keeps the scores in memory and, if wanted, in a folder.

Care
    Scores are measured on private text and reveal something about it: how many tokens a document
    has, and together with the model which tokens they may be. So the folder is never made inside
    the folder of a run, which is meant to be published. It is readable by its owner only, and as
    private as the text. Texts themselves are not stored: a document is found by a hash under a key
    that was drawn for the folder.
"""

from __future__ import annotations

import hashlib
import secrets
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.attack import Done
from sfumato.attacks.model_target import ModelTarget, is_run
from sfumato.core.arrays import Singles
from sfumato.core.errors import BadInput, InvalidArgument, StorageFailed
from sfumato.core.files import replace_file, write_first
from sfumato.text.document import Document

if TYPE_CHECKING:
    from torch import Tensor

    from sfumato.models.load import LoadedModel


Arrays = tuple[NDArray[np.float32], ...]

_KEY_BYTES = 32
_README = """Token scores that attacks have measured on private text.
They are as private as that text: do not give this folder away with the model.
It may be deleted at any time; scores are then measured again.
"""
DOCUMENTS_AT_ONCE = 256


@dataclass(eq=False)
class ScoreStore:
    """Arrays by model and text; ``folder`` keeps them for the next run.

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
                    f"cannot use the cache {self.folder}: {problem}; `cache=FOLDER` names another "
                    "folder, `no_cache=True` keeps nothing"
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
        # With a truncated key, names could confirm a guess at a text.
        if key.is_file() and key.stat().st_size != _KEY_BYTES:
            key.unlink()
        if not key.is_file():
            write_first(folder / "README", _README.encode())
            # The folder may be readable by others.
            write_first(key, self._key, private=True)
        self._key = key.read_bytes()
        for path in sorted(folder.glob("*.npz")):
            self._found.update(_load(path))

    def _save(self, path: Path, new: dict[bytes, Arrays]) -> None:
        parts = zip(*new.values(), strict=True)
        columns: dict[str, Any] = {
            f"part{place}": np.concatenate(part) for place, part in enumerate(parts)
        }
        try:
            with replace_file(path, private=True) as stream:
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


def _load(path: Path) -> dict[bytes, Arrays]:
    """The content of one file; a damaged one counts as missing and is measured again."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as content:
            return _take_apart(content)
    except (OSError, ValueError, KeyError, TypeError, EOFError, NotImplementedError):
        return {}
    except zipfile.BadZipFile:
        return {}


def _take_apart(content: Any) -> dict[bytes, Arrays]:
    names, lengths = content["names"].tobytes(), content["lengths"]
    parts = [content[f"part{place}"] for place in range(len(content.files) - 2)]
    if not parts or (lengths < 0).any() or any(len(one) != lengths.sum() for one in parts):
        raise ValueError  # as for any other damage
    columns = [np.split(one, np.cumsum(lengths)[:-1]) for one in parts]
    keys = [names[start : start + 16] for start in range(0, len(names), 16)]
    return dict(zip(keys, zip(*columns, strict=True), strict=True))


@dataclass(frozen=True, eq=False)
class TokenScores:
    """One document: ln p of each predicted token, and mean and deviation of ln p there."""

    log_probability: Singles
    mean: Singles
    deviation: Singles

    def __len__(self) -> int:
        return len(self.log_probability)

    @property
    def loss(self) -> float:
        """Mean −ln p; NaN for a document without a token."""
        if not len(self):
            return float("nan")
        return float(-self.log_probability.mean(dtype=np.float64))

    @property
    def total(self) -> float:
        """The sum of ln p."""
        return float(self.log_probability.sum(dtype=np.float64))


def token_scores(
    target: ModelTarget,
    documents: Sequence[Document],
    store: ScoreStore | None = None,
    done: Done | None = None,
) -> list[TokenScores]:
    """Scores of all documents, from the store where they have been measured before.

    New scores are stored every few hundred documents, so an interrupted run continues where it
    stopped.
    """
    store = ScoreStore() if store is None else store
    texts = [document.text for document in documents]
    todo = [text for text in dict.fromkeys(texts) if not store.has(target.digest, text)]
    # Sorted by length, so that little is padded.
    todo.sort(key=len)
    for start in range(0, len(todo), DOCUMENTS_AT_ONCE):
        some = todo[start : start + DOCUMENTS_AT_ONCE]
        store.add(target.digest, some, _measure(target.model, some))
        if done:
            done(min(start + DOCUMENTS_AT_ONCE, len(todo)), len(todo))
    return [TokenScores(*store.get(target.digest, text)) for text in texts]


def _measure(model: LoadedModel, texts: Sequence[str]) -> list[tuple[Singles, Singles, Singles]]:
    from sfumato.training.evaluation import each_row
    from sfumato.training.records import Cut, make_language_records

    if not any(model.tokenizer.places(text) for text in reversed(texts)):
        return [_join([]) for _ in texts]
    documents = [Document(text) for text in texts]
    records = make_language_records(documents, model.tokenizer, Cut(context=model.context))
    found: dict[int, list[tuple[Singles, Singles, Singles]]] = {}
    for record, logits, labels in each_row(model, records):
        found.setdefault(record, []).append(of_row(logits, labels))
    return [_join(found.get(record, [])) for record in range(len(records))]


def of_row(logits: Tensor, labels: Tensor) -> tuple[Singles, Singles, Singles]:
    """The ln p of each label, and mean and deviation of ln p over the vocabulary there."""
    from sfumato.models.tokenizer import IGNORED

    real = labels != IGNORED
    logs = logits[real].float().log_softmax(1)
    chosen = logs.gather(1, labels[real][:, None])[:, 0]
    if chosen.isnan().any():
        # Treated as missing evidence, the text would look harmless.
        raise BadInput("the model gives no finite numbers; its training may have diverged")
    shares = logs.exp()
    # An impossible token has ln p = −inf and weight 0; the product is 0, not NaN.
    finite = logs.clamp(min=-1e4)
    mean = (shares * finite).sum(1)
    deviation = (shares * (finite - mean[:, None]).square()).sum(1).sqrt()
    return chosen.numpy(), mean.numpy(), deviation.numpy()


def _join(pieces: list[tuple[Singles, Singles, Singles]]) -> tuple[Singles, Singles, Singles]:
    if not pieces:
        empty = np.empty(0, dtype=np.float32)
        return empty, empty, empty
    first, second, third = (np.concatenate(part) for part in zip(*pieces, strict=True))
    return first, second, third
