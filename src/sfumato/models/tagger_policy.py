"""``tagger:FOLDER``: what a trained tagger finds in a text.

Guarantee
    None of its own: what it misses stands in the clear. The tagger may have been trained with a
    guarantee for its training text, and keeps it however often it is asked.

Why what it finds in a document depends on this document alone
    Every document is read by itself. In a batch with others it would be padded to their length, and
    sums in another order could decide between two labels that are nearly equal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import ClassVar

from sfumato.core.checks import extra
from sfumato.core.errors import MissingModel
from sfumato.core.randomness import Randomness
from sfumato.core.settings import FileToRead
from sfumato.models.kinds import TAGGER
from sfumato.models.load import LoadedModel, load_model
from sfumato.models.name import local_folder
from sfumato.models.tagging import find_spans
from sfumato.policies.identity import Identity
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans

_REASON = "found by a trained tagger"


@dataclass(frozen=True)
class TaggerPolicy:
    """What the tagger in ``folder`` finds: a run of ``sfumato train --tags``, or a model's folder.

    A span is labeled with its type.
    """

    folder: FileToRead = field(repr=False)

    name: ClassVar[str] = "tagger"
    argument: ClassVar[str] = "folder"

    def find(self, document: Document) -> Spans:
        """The spans of one document."""
        (found,) = find_spans(self._model, [document.text])
        return Spans(
            tuple(Span(one.start, one.end, one.label, self.name, _REASON) for one in found)
        )

    def identity(self) -> Identity:
        """The tagger with all its files; weights are not ours to publish a hash of."""
        digest = sha256()
        for path in sorted(one for one in self._place.iterdir() if one.is_file()):
            content = sha256(path.read_bytes()).hexdigest()
            digest.update(f"{len(path.name)}:{path.name}:{content}".encode())
        return Identity((self.name, digest.hexdigest()), private=True)

    @property
    def _place(self) -> Path:
        here = local_folder(str(self.folder))
        if here is None:  # a policy is not asked of the hub: a misspelled folder stays here
            raise MissingModel(f"there is no folder {self.folder} to load a tagger from")
        inside = here / "model"
        return inside if inside.is_dir() else here

    @cached_property
    def _model(self) -> LoadedModel:
        extra("torch", needed_for="a tagger", extra="train")
        # A trained tagger lacks no weights, so nothing depends on this stream.
        return load_model(str(self._place), randomness=Randomness.secure(), kind=TAGGER)
