"""A public autoencoder in a folder: what one text is as a vector, and what a vector says.

The folder holds ``autoencoder.json`` (sizes, and how far public vectors reach), ``vocab.txt`` (one
word to a line) and ``weights.safetensors``; no file of it is a program. ``scripts/
build_autoencoder.py`` makes one from public text.

Care
    Whether a run fails must not depend on a private text: what is longer than ``tokens`` words is
    cut, unknown words share one number, and a vector that is not finite counts as 0. Each text is
    read by itself, so that none has any influence on the vector of another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.checks import at_least, extra, positive
from sfumato.core.errors import BadInput, InvalidArgument, MissingModel
from sfumato.core.json import read_object
from sfumato.models.encoder import digest_of_folder

if TYPE_CHECKING:
    from sfumato.core.arrays import Floats
    from sfumato.models.autoencoder_network import AutoencoderNetwork

SHAPE, WORDS, WEIGHTS = "autoencoder.json", "vocab.txt", "weights.safetensors"
_WORD = re.compile(r"'?\w+|[^\w\s]")
_MOST = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Sizes of the network, and how long and how wide vectors of the public text are.

    ``size`` is how many numbers a vector has, ``tokens`` how many words of a text are read at most.
    ``clip_norm`` is a length and ``clip_width`` a coordinate that public vectors hardly exceed.
    """

    size: int
    embedding: int
    hidden: int
    tokens: int
    clip_norm: float
    clip_width: float

    def __post_init__(self) -> None:
        for name in ("size", "embedding", "hidden", "tokens"):
            at_least(name, getattr(self, name), 1, _MOST)
        positive("clip_norm", self.clip_norm)
        positive("clip_width", self.clip_width)


@dataclass(frozen=True, eq=False)
class Autoencoder:
    """A network with its words."""

    name: str
    shape: Shape
    words: tuple[str, ...] = field(repr=False)
    network: AutoencoderNetwork = field(repr=False)
    digest: str = ""

    @cached_property
    def _numbers(self) -> dict[str, int]:
        from sfumato.models.autoencoder_network import SPECIAL

        return {word: place + SPECIAL for place, word in enumerate(self.words)}

    def row(self, text: str) -> list[int]:
        """The numbers of a text's first words, and its end."""
        from sfumato.models.autoencoder_network import END, UNKNOWN

        known = self._numbers
        cut = cut_words(text)[: self.shape.tokens]
        return [*(known.get(word, UNKNOWN) for word in cut), END]

    def encode(self, text: str) -> Floats:
        """The vector of one text, read by itself."""
        import torch

        with torch.no_grad():
            found: Floats = self.network.encode(torch.tensor([self.row(text)]))[0].double().numpy()
        return found if np.isfinite(found).all() else np.zeros(self.shape.size)

    def decode(self, vector: Floats, most: int) -> str:
        """The likeliest next word after the other, at most so many; any vector says something."""
        import torch

        from sfumato.models.autoencoder_network import BEGIN, END, SPECIAL

        code = torch.tensor(np.asarray(vector), dtype=torch.float32)[None]
        said: list[int] = []
        with torch.no_grad():
            state, before = self.network.begin(code), BEGIN
            for _ in range(most):
                scores, state = self.network.step(code, torch.tensor([[before]]), state)
                scores[0, 0, [one for one in range(SPECIAL) if one != END]] = -torch.inf
                before = int(scores[0, 0].argmax())
                if before == END:
                    break
                said.append(before)
        return " ".join(self.words[one - SPECIAL] for one in said)


def cut_words(text: str) -> list[str]:
    """A text in small letters, cut into words and single signs by a public rule.

    >>> cut_words("It 's Ada's, isn't it?")
    ['it', "'s", 'ada', "'s", ',', 'isn', "'t", 'it', '?']
    """
    return _WORD.findall(text.casefold())


def save_autoencoder(
    folder: Path, network: AutoencoderNetwork, words: Sequence[str], shape: Shape
) -> None:
    """Write a folder that ``load_autoencoder`` reads."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    (folder / SHAPE).write_text(json.dumps(asdict(shape), indent=2) + "\n", "utf-8")
    (folder / WORDS).write_text("\n".join(words) + "\n", "utf-8")
    weights = {name: one.detach().contiguous() for name, one in network.state_dict().items()}
    save_file(weights, folder / WEIGHTS)


def load_autoencoder(folder: Path) -> Autoencoder:
    """An autoencoder from its folder; nothing is fetched, and nothing of it is run."""
    for name in (SHAPE, WORDS, WEIGHTS):
        if not (folder / name).is_file():
            raise MissingModel(f"{folder} holds no autoencoder: there is no {name} in it")
    extra("torch", needed_for="an autoencoder", extra="train")
    shape = _read_shape(folder)
    words = tuple((folder / WORDS).read_text("utf-8").splitlines())
    if len(words) < 2 or len(set(words)) < len(words) or not all(map(_is_word, words)):
        raise BadInput(
            f"{folder / WORDS} must hold two words at least, one to a line, each once and printable"
        )
    network = _read_network(folder, shape, len(words))
    name = folder.resolve().name
    return Autoencoder(name, shape, words, network, digest_of_folder(folder))


def _is_word(text: str) -> bool:
    return bool(text) and text.isprintable()


def _read_shape(folder: Path) -> Shape:
    what = "the sizes of an autoencoder"
    try:
        return Shape(**read_object(folder / SHAPE, what))
    except (TypeError, InvalidArgument) as error:
        raise BadInput(f"{folder / SHAPE} does not tell {what}: {error}") from None


def _read_network(folder: Path, shape: Shape, words: int) -> AutoencoderNetwork:
    import torch
    from safetensors.torch import load_file

    from sfumato.models.autoencoder_network import AutoencoderNetwork

    network = AutoencoderNetwork(
        words=words, embedding=shape.embedding, hidden=shape.hidden, size=shape.size
    )
    try:
        weights: dict[str, Any] = load_file(folder / WEIGHTS)
        network.load_state_dict({name: one.float() for name, one in weights.items()})
    except Exception as error:  # the libraries fail in many ways
        problem = f"{type(error).__name__}: {str(error).partition(chr(10))[0][:200]}"
        raise BadInput(f"{folder / WEIGHTS} does not fit its sizes ({problem})") from None
    if not all(bool(torch.isfinite(one).all()) for one in network.parameters()):
        raise BadInput(f"{folder / WEIGHTS} holds weights that are not finite")
    return network.eval()
