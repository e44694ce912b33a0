"""Released vectors as a target: the rows, the mechanism that made them, and the public encoder.

All of it but the noise is public: a guarantee must not depend on hiding the encoder or the level.
So an attacker encodes texts as the owner did, and adds noise as the owner did to public texts, to
learn from them. The mechanism is built again from the side file; the folder of an encoder is named
again, for a side file tells its name only.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sfumato.accounting.guessing import Level
from sfumato.attacks.attack import Inputs, Needs
from sfumato.catalog import entries
from sfumato.core.arrays import Floats
from sfumato.core.errors import BadInput, MissingInput
from sfumato.core.files import reading
from sfumato.core.randomness import Randomness
from sfumato.core.settings import FileToRead
from sfumato.guarantees.wording import at_most
from sfumato.representations.encoding import GLOVE, Encoding, open_encoding
from sfumato.representations.files import StoredVectors, holds_vectors, read_stored, side_path
from sfumato.representations.mechanism import KIND, VectorMechanism, build_representation
from sfumato.text.document import Document

VECTORS = "vectors"
MAKE = "`sfumato.embed(IN, 'OUT.npy', epsilon=50)` writes one; then attack OUT"
# Encoded texts that are kept in memory: several attacks look at the same ones.
_KEPT = 8
_LOOKING = 2**31
_EXCLUDES_NOTHING = 0.9995


@dataclass(frozen=True, eq=False, repr=False)
class VectorTarget:
    """Released vectors, and how they were made."""

    stored: StoredVectors
    mechanism: VectorMechanism
    encoding: Encoding

    @property
    def vectors(self) -> Floats:
        """A row for each document."""
        return self.stored.vectors

    @property
    def level(self) -> Level | None:
        """What is proven of any two documents, or words; None where it depends on a distance."""
        return self.mechanism.level

    @property
    def of_words(self) -> bool:
        """Whether each word has a vector of its own."""
        return self.stored.settings["tokens"] is True

    def encode(self, texts: Sequence[str]) -> Floats:
        """Vectors of any texts, as the encoder gives them."""
        return _encode(self.encoding, texts)

    def clear(self, texts: Sequence[str]) -> Floats:
        """What noise is added to, for any texts."""
        return self.mechanism.prepare(self.encode(texts))

    def simulate(self, texts: Sequence[str], randomness: Randomness) -> Floats:
        """Vectors as they would have been released for these texts.

        The stream is one that no release has: with a seed that both have in common, an attacker
        must not repeat the draws that it has to guess.
        """
        return self.mechanism.release(self.encode(texts), randomness.stream(_LOOKING))

    def __repr__(self) -> str:
        return f"VectorTarget({len(self.stored)} documents)"


@dataclass(frozen=True, eq=False, repr=False)
class Texts:
    """The originals, and other text of the same kind if there is any."""

    originals: Sequence[Document]
    others: Sequence[Document] | None = None

    def __repr__(self) -> str:
        return f"Texts({len(self.originals)} originals)"


@dataclass(frozen=True, kw_only=True)
class OnVectors:
    """What all attacks on vectors share: ``encoder`` is the folder that the vectors are by."""

    encoder: FileToRead = ""

    name: ClassVar[str]
    target: ClassVar[str] = VECTORS
    needs: ClassVar[Needs] = Needs(
        inputs=("originals", "others"), known=("encoder",), by_group=False
    )
    # Whether it has something to do without other text, and with vectors of words.
    needs_others: ClassVar[bool] = False
    takes_words: ClassVar[bool] = False

    def missing(self, inputs: Inputs) -> str | None:
        """What is missing of a file of vectors and its originals; None if nothing is."""
        lacking = not_vectors(inputs.target)
        if lacking is not None:
            return lacking
        if inputs.originals is None:
            return (
                f"the text that {inputs.target} was made from is needed, to see which guesses are "
                "right: `originals=IN`"
            )
        if self.needs_others and inputs.others is None:
            return (
                "public text of the same kind is needed, to learn from and to compare with: "
                "`others=FILE`"
            )
        return None

    def opened(self, inputs: Inputs) -> tuple[Any, Any]:
        """The vectors with their mechanism, and the texts."""
        assert inputs.originals is not None  # noqa: S101  # see ``missing``
        target = open_vectors(inputs.target, self.encoder)
        if target.of_words and not self.takes_words:
            raise MissingInput(
                f"{inputs.target} holds vectors of words, and this attack looks at one vector for "
                "each document; the attack 'vector-inversion' is for such files"
            )
        originals = inputs.documents(inputs.originals)
        if len(originals) != len(target.stored):
            raise BadInput(
                f"the originals are {len(originals):,} documents and there are vectors of "
                f"{len(target.stored):,}: they must be the same documents in the same order"
            )
        others = None if inputs.others is None else inputs.documents(inputs.others)
        return target, Texts(originals, others)


def not_vectors(path: Path) -> str | None:
    """Why a path cannot be attacked as a file of vectors, with what to do; None if it can."""
    if path.is_dir():
        return f"{path} is a folder; this attack is on a file of vectors: {MAKE}"
    if not path.is_file():
        return f"there is no file {path}: {MAKE}"
    if not holds_vectors(path):
        return f"{path} is no file of vectors with its side file beside it: {MAKE}"
    return None


def open_vectors(path: Path, encoder: str = "") -> VectorTarget:
    """Vectors, their mechanism and their encoder."""
    stored = read_stored(path)
    settings, side = stored.settings, side_path(path)
    name = str(settings["representation"])
    # A side file may come from anybody: names in it are looked up, and no code in it is run.
    if name not in entries(KIND):
        raise MissingInput(f"{side} names the noise {name!r}, which is not in the catalog")
    with reading(side, "the side file of vectors"):
        own = dict(settings["representation_settings"])
        mechanism = build_representation(
            name,
            size=int(own.pop("size")),
            epsilon=float(settings["epsilon"]),
            delta=float(settings["delta"]),
            settings={key: value for key, value in own.items() if value is not None},
        )
        digest, called = str(settings["encoder_digest"]), str(settings["encoder"])
    encoding = _open(encoder or GLOVE)
    if encoding.digest != digest:
        raise MissingInput(
            f"the vectors are by {called}; name it: `settings={{'encoder': FOLDER}}` "
            + ("(what was named is another one)" if encoder else "")
        )
    return VectorTarget(stored, mechanism, encoding)


def tell_bound(level: Level | None, what: str, bound: float) -> str:
    """What a level proves about a figure, in a sentence."""
    if level is None:
        return (
            f"No bound on {what} follows: the level is by distance, and vectors can be any "
            "distance apart."
        )
    proven = f"ε ≤ {at_most(level.epsilon, 4)}"
    proven += f", δ ≤ {at_most(level.delta, 2)}" if level.delta else ""
    if bound > _EXCLUDES_NOTHING:
        return f"What is proven ({proven}) excludes nothing about {what}."
    return f"What is proven ({proven}): {what} is {at_most(bound, 3)} at most, whatever is tried."


def _open(encoder: str) -> Encoding:
    # Word vectors are kept where they are loaded; a network takes long to read.
    return open_encoding(encoder) if encoder == GLOVE else _open_network(encoder)


@lru_cache(maxsize=2)
def _open_network(encoder: str) -> Encoding:
    return open_encoding(encoder)


_ENCODED: OrderedDict[tuple[str, bytes], Floats] = OrderedDict()


def _encode(encoding: Encoding, texts: Sequence[str]) -> Floats:
    """Vectors of texts; those of the last few corpora are kept, in memory only."""
    digest = blake2b(digest_size=16)
    for one in texts:
        digest.update(len(one).to_bytes(8, "big") + one.encode("utf-8", "surrogatepass"))
    key = (encoding.digest, digest.digest())
    if key not in _ENCODED:
        _ENCODED[key] = np.asarray(encoding.public(list(texts)))
        while len(_ENCODED) > _KEPT:
            _ENCODED.popitem(last=False)
    return _ENCODED[key]
