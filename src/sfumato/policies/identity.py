"""Which policy it was: a code that tells policies apart without telling what they look for.

A name is not enough: every word list is called "lexicon". A selective guarantee speaks of what one
policy finds, and two of them add up only for the same one, so a guarantee carries a code of it.

Guarantee
    Policies that may find something else have other codes, as far as settings, files and versions
    decide what is found. Equal codes mean equal policies. A code tells no word, pattern or seed,
    and no guess of one can be tested without its key.

Why it holds
    A code is a hash of everything that decides what is found: the kind of policy, its settings,
    the policies inside it in their order, and the versions of this package, of its regular
    expressions and of Unicode. Where all of that is public (``pii``, ``digits``) it is a plain
    hash, the same everywhere. Where anything in it is private (an entry of a word list, a pattern,
    the seed of misses, the files of a pipeline, which may hold rules, and all code that is not
    ours, which may hold words) it is HMAC-SHA256 under a key. A hash without a key would not do,
    however slow: a list may hold one name, and at a tenth of a second each a hundred thousand names
    are tried in three hours.

    Unless a key file is named, the key is drawn once for the process and forgotten with it: then
    what one process wrote can be compared, and nothing else can. Under a key file codes can be
    compared wherever that file is, on any machine. Codes of different keys are different, and so
    are those of a policy that does not say what it is: guarantees then do not add up, which is the
    safe side.

    Of a class that is not ours, the file it stands in counts as well: a class may inherit what
    another says of itself, and a new version of a plug-in may find something else. What is
    inherited speaks only of what the class that says it knows: an object with a field, a slot or
    an attribute beyond those has no identity until its own class says what it is. Neither has one
    whose class its module does not hold (made in a function, say, whose variables it sees), or
    whose class stands in a script that is run and does not say itself what it is.

What does not hold
    Equal codes show that runs had the same policy, also to those who lack the key. Whoever has the
    key can test guesses; keep it with the word list, never with a model. A pipeline is told by its
    files and by spaCy's version: code of somebody else that it calls is not looked at. Neither are
    the modules that a file of one's own imports, nor the files that its code reads: whatever of
    them decides belongs into ``identity()``. A class that says itself what it is is believed.
"""

from __future__ import annotations

import json
import unicodedata
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache, cached_property
from hashlib import sha256
from importlib.metadata import version
from typing import Protocol, runtime_checkable

from sfumato.core.errors import IncomparableGuarantees
from sfumato.core.keys import Key
from sfumato.core.own_code import code_of, stands_in_script
from sfumato.policies.policy import Policy

_PUBLIC = "public"


@dataclass(frozen=True)
class Identity:
    """All that decides what a component does; ``private`` if some of it may not be guessed at."""

    parts: tuple[object, ...] = field(repr=False)
    private: bool = False

    @property
    def spelled(self) -> str:
        """The same text for the same parts only: each stands in quotes or brackets of its own."""
        return json.dumps(self.parts)

    @property
    def public_code(self) -> str | None:
        """A hash that is the same everywhere; none where a guess could be tested with it."""
        if self.private:
            return None
        return f"{_PUBLIC}:{sha256(self.spelled.encode()).hexdigest()}"


@runtime_checkable
class Identified(Policy, Protocol):
    """A policy that can be told from all others."""

    def identity(self) -> Identity | None:
        """What decides what it finds; nothing if a policy inside cannot say."""
        ...


def identity_of(policy: Policy) -> Identity | None:
    """What decides what a policy finds; nothing if it cannot say."""
    return with_code(policy, policy.identity()) if isinstance(policy, Identified) else None


def with_code(component: object, found: Identity | None) -> Identity | None:
    """What a component says of itself, with the code of classes that are not ours.

    None if it has more than what was said speaks of, or if its code is unknown. Code that is not
    ours may hold words: with it an identity is private.

    >>> from sfumato.policies.patterns import Digits
    >>> with_code(Digits(), Identity(("ours",)))
    Identity(private=False)
    """
    if found is None or not _is_all_said(component):
        return None
    codes = code_of(type(component))
    if codes is None:
        return None
    return Identity((*codes, found.parts), private=True) if codes else found


def identity_around(
    kind: str, policies: tuple[Policy, ...], *settings: object, private: bool = False
) -> Identity | None:
    """The identity of a policy made of others, whose order counts; nothing if one has none."""
    parts: list[object] = [kind, *settings]
    for policy in policies:
        found = identity_of(policy)
        if found is None:
            return None
        parts.append(found.parts)
        private = private or found.private
    return Identity(tuple(parts), private)


def policy_code(policy: Policy, key: Key | None = None) -> str:
    """The code of a policy, under a key where it needs one; empty if it cannot be told.

    >>> from sfumato.policies.lexicon import Lexicon
    >>> policy_code(Lexicon(("Ada",))) == policy_code(Lexicon(("ada",)))
    True
    >>> policy_code(Lexicon(("Ada",))) == policy_code(Lexicon(("Bob",)))
    False
    """
    found = identity_of(policy)
    if found is None:
        return ""
    found = replace(found, parts=(found.parts, versions()))
    if found.public_code is not None:
        return found.public_code
    key = _key_of_this_process() if key is None else key
    return f"{key.origin}:{key.code('policy', found.spelled)}"


def told_apart(policy: Policy) -> str:
    """All that decides what a policy finds, to be kept as a code under the key of an account."""
    found = identity_of(policy)
    if found is None:
        raise IncomparableGuarantees(
            "the policy, or something else that the guarantee speaks of, does not say what it is; "
            "so nobody could tell whether later charges speak of the same"
        )
    return f"policy {found.spelled}"


def is_keyed(code: str) -> bool:
    """Whether a code was made under a key.

    >>> is_keyed("public:1f"), is_keyed("fresh:1f"), is_keyed("")
    (False, True, False)
    """
    return bool(code) and not code.startswith(f"{_PUBLIC}:")


@cache
def _key_of_this_process() -> Key:
    return Key.fresh()


@cache
def versions() -> tuple[str, ...]:
    """What decides beside every setting: of this package, of its patterns and of Unicode."""
    return version("sfumato"), version("regex"), unicodedata.unidata_version


def _is_all_said(component: object) -> bool:
    """Whether the class that says what a component is knows all that the component holds.

    Without a method for it, the fields of its own class are what is said.
    """
    kind = type(component)
    if "identity" in vars(kind):
        return True
    saying = next((one for one in kind.__mro__ if "identity" in vars(one)), kind)
    known = {one.name for one in fields(saying)} if is_dataclass(saying) else set()
    # A list or a text that is a policy holds its entries where no attribute shows them.
    bare = all(one is object or one.__module__ != "builtins" for one in kind.__mro__)
    return bare and not stands_in_script(kind) and _held(component) <= known


def _held(component: object) -> set[str]:
    """The names of all that an object holds; what is computed of it when asked for is left out."""
    held: set[str] = set(getattr(component, "__dict__", ()))
    computed: set[str] = set()
    for kind in type(component).__mro__:
        slots = vars(kind).get("__slots__", ())
        held.update([slots] if isinstance(slots, str) else slots)
        if is_dataclass(kind):
            held.update(one.name for one in fields(kind))
        computed.update(k for k, value in vars(kind).items() if isinstance(value, cached_property))
    return held - computed - {"__dict__", "__weakref__"}
