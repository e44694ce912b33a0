"""A public pool of sentences and their vectors.

The pool must be public: which sentences there are shapes every output. It can be any file that
sfumato reads; its texts are cut into sentences by the same rule as the private ones, each kept
once. Vectors come from a sentence encoder in a folder, or from the embedded public word vectors:
then the mean over the pool, which is public, is taken from all of them.

A pool is loaded once per process. With a folder for it, its vectors are also kept on the disk,
under a name that the pool and the encoder decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from hashlib import sha256
from multiprocessing import parent_process
from pathlib import Path

import numpy as np

from sfumato.core.arrays import Floats, Singles
from sfumato.core.errors import BadInput, StorageFailed
from sfumato.core.files import replace_file
from sfumato.core.progress import Advance, progress
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.models.encoder import SentenceEncoder, digest_of_folder, load_encoder
from sfumato.text.lines import is_printable, tidy_lines
from sfumato.text.sentences import split_sentences
from sfumato.vectors.load import default_space
from sfumato.vectors.means import mean_vectors, unit_rows

FEWEST = 2
# Sentences that are encoded between two reports; a multiple of what an encoder takes at once.
_AT_ONCE = 256
_SHORTER = 2e-7
# Of a sum of squares in double precision.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class Pool:
    """Public sentences and their unit vectors; ``mean`` is taken from a vector before it is scaled.

    ``encoder`` is None where vectors are means of public word vectors.
    """

    name: str
    sentences: tuple[str, ...]
    vectors: Singles
    mean: Floats
    encoder: SentenceEncoder | None = field(default=None)

    def __post_init__(self) -> None:
        if len(self.sentences) < FEWEST or len(self.sentences) != len(self.vectors):
            raise BadInput(
                f"{self.name}: a pool needs {FEWEST} different sentences at least, and a vector "
                "for each"
            )
        lengths = np.einsum("ij,ij->i", self.vectors, self.vectors, dtype=np.float64)
        # What is proven by distances needs vectors of length 1 at most. A nan fails as well.
        if not (lengths <= 1 + _ROUNDING).all():
            raise BadInput(
                f"{self.name}: a vector of the pool is longer than 1, or is none; if vectors are "
                "kept in a folder, `settings={'cache': FOLDER}`, delete what is there"
            )

    def __len__(self) -> int:
        return len(self.sentences)

    def __repr__(self) -> str:
        return f"Pool({self.name!r}, {len(self):,} sentences)"

    @property
    def metric(self) -> str:
        """The distance between sentences."""
        by = "mean word vectors" if self.encoder is None else self.encoder.name
        return f"Euclidean distance between unit sentence vectors by {by}"

    @cached_property
    def digest(self) -> str:
        """A hash of the sentences and their vectors; both are public."""
        digest = sha256("\n".join(self.sentences).encode("utf-8", "surrogatepass"))
        digest.update(np.ascontiguousarray(self.vectors).data)
        return digest.hexdigest()

    def vectors_of(self, sentences: Sequence[str]) -> Floats:
        """The unit vector of each private sentence, none of which influences another."""
        if not sentences:
            return np.empty((0, self.vectors.shape[1]))
        if self.encoder is not None:
            return unit_rows(self.encoder.encode_alone(sentences))
        return center(mean_vectors(sentences, default_space()), self.mean)

    def first(self, count: int) -> Pool:
        """The pool of the first sentences alone."""
        return Pool(
            f"the first {min(count, len(self)):,} sentences of {self.name}",
            self.sentences[:count],
            self.vectors[:count],
            self.mean,
            self.encoder,
        )


def center(vectors: Floats, mean: Floats) -> Floats:
    """Unit vectors around a public mean; a text without a known word has the vector 0."""
    known = np.abs(vectors).max(axis=1) > 0
    return unit_rows(np.where(known[:, None], vectors - mean, 0.0))


def load_pool(
    path: str, *, column: str = "text", encoder: str = "", cache: str = "", whole: bool = False
) -> Pool:
    """The pool in a file, with vectors by an encoder's folder or by public word vectors.

    A ``whole`` pool is one of documents, which are not cut into sentences.
    """
    place = Path(path)
    if not place.is_file():
        raise StorageFailed(f"there is no file {path} with public sentences")
    stamp = place.stat()
    return _load(path, column, encoder, cache, whole, (stamp.st_mtime_ns, stamp.st_size))


@lru_cache(maxsize=2)
def _load(
    path: str, column: str, encoder: str, cache: str, whole: bool, stamp: tuple[int, int]
) -> Pool:
    del stamp  # a file that was written again is another one
    read = read_texts if whole else read_sentences
    sentences = read(Path(path), column)
    name = Path(path).name
    if len(sentences) < FEWEST:
        raise BadInput(f"{name} holds {len(sentences)} sentences; a pool needs {FEWEST} at least")
    if not encoder:
        found = mean_vectors(sentences, default_space())
        mean: Floats = (
            found[np.abs(found).max(axis=1) > 0].mean(axis=0) if found.any() else found[0]
        )
        return Pool(name, sentences, in_singles(center(found, mean)), mean)
    loaded = load_encoder(Path(encoder))
    vectors = _kept(sentences, loaded, cache)
    return Pool(name, sentences, vectors, np.zeros(vectors.shape[1]), loaded)


def read_sentences(path: Path, column: str = "text") -> tuple[str, ...]:
    """All sentences of a file in their order, each once; what cannot be printed is left out."""
    documents = Source.of(path, Layout(field=column)).documents()
    found = (one for document in documents for one in split_sentences(document.text))
    return tuple(dict.fromkeys(one for one in found if one.isprintable()))


def read_texts(path: Path, column: str = "text") -> tuple[str, ...]:
    """All texts of a file in their order and with their lines, each once."""
    documents = Source.of(path, Layout(field=column)).documents()
    tidy = (tidy_lines(one.text) for one in documents)
    return tuple(dict.fromkeys(one for one in tidy if one and is_printable(one)))


def _kept(sentences: tuple[str, ...], encoder: SentenceEncoder, cache: str) -> Singles:
    """The vectors, from the disk if they are there."""
    if not cache:
        return _encode(sentences, encoder)
    decides = sha256("\n".join((encoder.digest, *sentences)).encode()).hexdigest()[:24]
    file = Path(cache) / f"pool-{decides}.npy"
    if file.is_file():
        vectors: Singles = np.load(file, allow_pickle=False)
        if vectors.ndim == 2 and len(vectors) == len(sentences) and np.isfinite(vectors).all():
            return vectors
        raise BadInput(f"{file} does not hold the vectors of this pool; delete it")
    vectors = _encode(sentences, encoder)
    try:
        Path(cache).mkdir(parents=True, exist_ok=True)
        with replace_file(file) as stream:
            np.save(stream, vectors)
    except OSError as error:
        raise StorageFailed(f"cannot write {file}: {error.strerror}") from None
    return vectors


def _encode(sentences: Sequence[str], encoder: SentenceEncoder) -> Singles:
    # Sentences of one length together need hardly any padding; the pool is public.
    order = sorted(range(len(sentences)), key=lambda place: len(sentences[place]))
    parts: list[Singles] = []
    with _telling(len(order)) as reach:
        for start in range(0, len(order), _AT_ONCE):
            some = [sentences[place] for place in order[start : start + _AT_ONCE]]
            parts.append(in_singles(unit_rows(encoder.encode_together(some))))
            reach(start + len(some))
    found = np.concatenate(parts)
    vectors = np.empty_like(found)
    vectors[order] = found
    return vectors


def _telling(total: int) -> AbstractContextManager[Advance]:
    """How far the pool is; workers encode it for themselves, and whoever started them is told."""
    if parent_process() is not None:
        return nullcontext(lambda _: None)
    return progress("encoding the pool", total, unit_is_bytes=False)


def in_singles(unit: Floats) -> Singles:
    """Unit vectors in single precision, none of them longer than 1.

    Rounding moves each number by at most 6e-8 of it, and so the length of a vector.
    """
    return (unit * (1 - _SHORTER)).astype(np.float32)


def encoder_digest(encoder: str) -> str:
    """What tells an encoder from others; nothing for the embedded word vectors."""
    return digest_of_folder(Path(encoder)) if encoder else default_space().digest
