"""Which mechanism it was, so that nobody goes on with the work of another one.

Guarantee
    Mechanisms that may draw otherwise have other identities, as far as settings, files, vectors
    and code decide how they draw. Equal settings have equal identities, whether a mechanism was
    given by its name or as an object.

Why it holds
    A mechanism is a frozen dataclass, and its fields are all its settings. Every field is spelled
    out: numbers and names as they are, a space by a hash of its words and vectors, a file by a hash
    of what it holds, a key by a code that is made with it, anything else by its own identity. A
    mechanism that says itself what it is (``identity()``) is believed. For one that can do neither
    there is no identity, and what it began is not gone on with.

    Numbers, names and vectors are public by definition: they stand in the side file. All else
    (lists of words, files, keys) makes the identity private, and a private identity is never
    written down, except through a slow hash with a salt.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from sfumato.core.keys import Key
from sfumato.core.settings import purposes
from sfumato.mechanisms.mechanism import Keyed
from sfumato.policies.identity import Identity, with_code
from sfumato.vectors.space import Space


@runtime_checkable
class SaysWhatItIs(Protocol):
    """Something with an identity of its own."""

    def identity(self) -> Identity | None:
        """All that decides what it does; nothing if a part of it cannot say."""
        ...


def mechanism_identity(mechanism: object) -> Identity | None:
    """All that decides how a mechanism draws; nothing if it cannot be told.

    >>> from sfumato.mechanisms.redact import Redact
    >>> mechanism_identity(Redact()).parts
    ('Redact',)
    >>> mechanism_identity(object()) is None
    True
    """
    if isinstance(mechanism, SaysWhatItIs):
        return with_code(type(mechanism), mechanism.identity())
    if not is_dataclass(mechanism) or isinstance(mechanism, type):
        return None
    if not vars(type(mechanism))["__dataclass_params__"].frozen:
        return None
    files = purposes(type(mechanism))
    parts: list[object] = [type(mechanism).__qualname__]
    private = False
    for one in fields(mechanism):
        if not one.init:
            continue  # it follows from the others
        value = getattr(mechanism, one.name)
        found = _of_file(value) if one.name.removesuffix("_") in files else _of_value(value)
        if found is None:
            return None
        parts.append((one.name, found.parts))
        private = private or found.private
    if isinstance(mechanism, Keyed):
        parts.append(_of_key(mechanism.key).parts)
        private = True
    return with_code(type(mechanism), Identity(tuple(parts), private))


def _of_value(value: Any) -> Identity | None:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 5 and 5.0 are the same level
    if value is None or isinstance(value, (bool, int, float, str)):
        return Identity((value,))
    if isinstance(value, Space):
        return Identity(("space", value.name, value.digest, value.search_kind))
    if isinstance(value, Key):
        return _of_key(value)
    if isinstance(value, np.ndarray):
        content = np.ascontiguousarray(value)
        kind = (content.dtype.str, list(content.shape))
        return Identity(("array", *kind, sha256(content.data).hexdigest()), private=True)
    if isinstance(value, (tuple, list)):
        return _of_several(value)
    return mechanism_identity(value)


def _of_several(values: tuple[object, ...] | list[object]) -> Identity | None:
    found = [_of_value(one) for one in values]
    parts = tuple(one.parts for one in found if one is not None)
    return Identity(("several", *parts), private=True) if len(parts) == len(found) else None


def _of_key(key: Key) -> Identity:
    return Identity(("key", key.code("identity")), private=True)


def _of_file(value: object) -> Identity | None:
    """What the file holds, wherever it lies; a name that is no file stands for itself."""
    if value is None or not isinstance(value, (str, Path)):
        return _of_value(value)
    path = Path(value)
    if not path.is_file():
        return Identity(("name", str(value)), private=True)
    with path.open("rb") as stream:
        content = sha256()
        while block := stream.read(1 << 20):
            content.update(block)
    return Identity(("file", content.hexdigest()), private=True)
