"""A store of what linguistic policies found, in a folder that the user names.

Care
    Where names stand in a text, and of what type, is as private as the text. So the folder is made
    for its owner only, and so is every file in it. No text is kept: a document is found by a hash
    under a key that was drawn for the folder, so that somebody with another list of texts cannot
    ask the store about them without the key. Keep the folder beside the corpus, never with a
    release.

A line holds one document; a line that a crash left half-written counts as missing.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from sfumato.core.errors import StorageFailed
from sfumato.text.span import Span, Spans

_KEY_BYTES = 32
_README = """Where policies found something in private text, and as what.
It is as private as that text: do not give this folder away with a release or a model.
It may be deleted at any time; the text is then read again.
"""

CacheKey = tuple[str, ...]


def remember(
    folder: str,
    identity: CacheKey,
    texts: Sequence[str],
    compute: Callable[[Sequence[str]], list[Spans]],
) -> list[Spans]:
    """What was found in each text, computed only where the folder does not know it.

    ``identity`` names everything else that decides what is found; without a folder all is computed.
    """
    if not folder:
        return compute(texts)
    return _open(str(Path(folder).absolute())).filled(identity, texts, compute)


@dataclass(eq=False)
class SpanCache:
    """Spans by what found them and where."""

    folder: Path
    _key: bytes = field(default=b"", init=False, repr=False)
    _found: dict[str, Spans] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._key = _key_of(self.folder)
            self._read()
        except OSError as error:
            problem = error.strerror or "opening failed"
            raise StorageFailed(f"cannot use the cache {self.folder}: {problem}") from None

    def filled(
        self,
        identity: CacheKey,
        texts: Sequence[str],
        compute: Callable[[Sequence[str]], list[Spans]],
    ) -> list[Spans]:
        """The spans of every text; those that are new are kept."""
        names = [self._name(identity, text) for text in texts]
        # A text that stands there twice is read once.
        missing = {
            name: text for name, text in zip(names, texts, strict=True) if name not in self._found
        }
        if missing:
            found = compute(list(missing.values()))
            self._add(dict(zip(missing, found, strict=True)))
        return [self._found[name] for name in names]

    def _name(self, identity: CacheKey, text: str) -> str:
        # Every part stands behind its length, so that no other parts give the same bytes.
        content = "".join(f"{len(part)}:{part}" for part in (*identity, text)).encode()
        return blake2b(content, key=self._key, digest_size=16).hexdigest()

    def _add(self, new: dict[str, Spans]) -> None:
        lines = "".join(f"{_line(name, spans)}\n" for name, spans in new.items())
        try:
            # Several processes may share the folder: each appends whole lines in one go, behind
            # a line break that ends what a crash may have left.
            with _private(self.folder / "spans.jsonl", os.O_APPEND) as stream:
                stream.write(f"\n{lines}".encode())
        except OSError as error:
            problem = error.strerror or "writing failed"
            raise StorageFailed(f"cannot write to the cache {self.folder}: {problem}") from None
        self._found.update(new)

    def _read(self) -> None:
        path = self.folder / "spans.jsonl"
        if not path.is_file():
            return
        with path.open("rb") as stream:
            for line in stream:
                read = _from_line(line)
                if read is not None:
                    self._found[read[0]] = read[1]


@cache
def _open(folder: str) -> SpanCache:
    return SpanCache(Path(folder))


def _key_of(folder: Path) -> bytes:
    """The key of the folder; of several processes that draw one, the first one's counts."""
    path = folder / "key"
    if not path.is_file():
        drawn = folder / f"key.{secrets.token_hex(8)}"
        with _private(drawn, os.O_EXCL) as stream:
            stream.write(secrets.token_bytes(_KEY_BYTES))
        try:
            os.link(drawn, path)
        except FileExistsError:
            pass
        finally:
            drawn.unlink()
        with _private(folder / "README", os.O_TRUNC) as stream:
            stream.write(_README.encode())
    return path.read_bytes()[:64]


def _private(path: Path, flag: int) -> Any:
    """A file to write that nobody else can read, without a buffer."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | flag, 0o600), "wb", buffering=0)


def _line(name: str, spans: Spans) -> str:
    kinds = sorted({(span.label, span.rule, span.reason) for span in spans})
    places = [
        (span.start, span.end, kinds.index((span.label, span.rule, span.reason))) for span in spans
    ]
    return json.dumps({"document": name, "kinds": kinds, "spans": places}, separators=(",", ":"))


def _from_line(line: bytes) -> tuple[str, Spans] | None:
    try:
        content = json.loads(line)
        kinds = [tuple(map(str, kind)) for kind in content["kinds"]]
        spans = [Span(int(start), int(end), *kinds[kind]) for start, end, kind in content["spans"]]
        return str(content["document"]), Spans.of(spans)
    except (ArithmeticError, ValueError, LookupError, TypeError, RecursionError):
        return None
