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

    Numbers, names and vectors are public by definition: they stand in the side file, unless a
    field says ``repr=False``. All else (lists of words, files, keys, code that is not ours) makes
    the identity private, and a private identity is never written down, except through a slow hash
    with a salt.

What does not hold
    Only values whose type is known exactly are spelled out; with any other setting there is no
    identity. Modules that a file of one's own imports are not looked at (``policies.identity``).
"""

from __future__ import annotations

import inspect
from dataclasses import Field, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

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
    if isinstance(mechanism, type):
        return None
    if isinstance(mechanism, SaysWhatItIs):
        return with_code(mechanism, mechanism.identity())
    # A class that only inherits the fields of another may be anything beside them.
    kind: type[Any] = type(mechanism)
    made = vars(kind).get("__dataclass_params__")
    if made is None or not made.frozen:
        return None
    files = purposes(kind)
    parts: list[object] = [kind.__qualname__]
    private = False
    for one in _deciding(kind):
        value = getattr(mechanism, one.name)
        found = _of_file(value) if one.name.removesuffix("_") in files else _of_value(value)
        if found is None:
            return None
        parts.append((one.name, found.parts))
        private = private or found.private or not one.repr
    if isinstance(mechanism, Keyed):
        parts.append(_of_key(mechanism.key).parts)
        private = True
    return with_code(mechanism, Identity(tuple(parts), private))


def _deciding(kind: type) -> list[Field[Any]]:
    """The fields that decide: those it is made with, from which others follow.

    If it is made with anything that is no field, the others may follow from that: then all decide.
    """
    every = list(fields(kind))
    given = [one for one in every if one.init]
    made_with = set(inspect.signature(kind).parameters)
    return given if made_with == {one.name for one in given} else every


def _of_value(value: Any) -> Identity | None:
    """A value by what it is. Of types that inherit from these nobody knows what they add."""
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        value = value.item()
    kind = type(value)
    if kind is float and value.is_integer():
        value = int(value)  # 5 and 5.0 are the same level
    if value is None or kind in (bool, int, float, str):
        return Identity((value,))
    if kind is Space:
        return Identity(("space", value.name, value.digest, value.search_kind))
    if kind is Key:
        return _of_key(value)
    if kind in (tuple, list):
        return _of_several(value)
    return _of_array(value) if isinstance(value, np.ndarray) else mechanism_identity(value)


def _of_array(array: NDArray[Any]) -> Identity | None:
    """The numbers of an array; none if it is more than numbers (a mask) or only points at them."""
    if type(array) is not np.ndarray or array.dtype.hasobject:
        return None
    content = str(array.dtype), list(array.shape), sha256(array.tobytes()).hexdigest()
    return Identity(("array", *content), private=True)


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
