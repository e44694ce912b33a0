"""Keys, tokens and passwords: what opens a door to whoever reads it.

Many services give their keys a beginning of their own, so that they are found when they leak. What
has none is found by its name before it, as logs and settings write it (``token=…``). The name is
kept: only the value is the span.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.policies.pii.automaton import Automaton
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.reading import Page, Reading
from sfumato.policies.pii.runs import BEYOND, DIGITS, LETTERS, among, surely

# The literal that a key begins with, and the rest of it.
_PREFIXES = {
    "AKIA": r"[A-Z0-9]{16}",
    "ASIA": r"[A-Z0-9]{16}",
    "ghp_": r"[A-Za-z0-9]{20,255}+",
    "gho_": r"[A-Za-z0-9]{20,255}+",
    "ghu_": r"[A-Za-z0-9]{20,255}+",
    "ghs_": r"[A-Za-z0-9]{20,255}+",
    "ghr_": r"[A-Za-z0-9]{20,255}+",
    "github_pat_": r"[A-Za-z0-9_]{20,255}+",
    "glpat-": r"[A-Za-z0-9_\-]{16,255}+",
    "xox": r"[abeoprs]-[A-Za-z0-9\-]{10,255}+",
    "xapp-": r"[A-Za-z0-9\-]{10,255}+",
    "sk_live_": r"[A-Za-z0-9]{10,255}+",
    "sk_test_": r"[A-Za-z0-9]{10,255}+",
    "rk_live_": r"[A-Za-z0-9]{10,255}+",
    "pk_live_": r"[A-Za-z0-9]{10,255}+",
    "whsec_": r"[A-Za-z0-9+/=]{16,255}+",
    "sk-": r"[A-Za-z0-9_\-]{20,255}+",
    "AIza": r"[A-Za-z0-9_\-]{30,60}+",
    "ya29.": r"[A-Za-z0-9_\-]{20,512}+",
    "SG.": r"[A-Za-z0-9_\-]{16,40}+\.[A-Za-z0-9_\-]{16,80}+",
    "npm_": r"[A-Za-z0-9]{30,60}+",
    "pypi-": r"[A-Za-z0-9_\-]{30,512}+",
    "hf_": r"[A-Za-z0-9]{20,60}+",
    "dop_v1_": r"[a-f0-9]{40,80}+",
    "eyJ": r"[A-Za-z0-9_\-]{5,4096}+\.[A-Za-z0-9_\-]{5,8192}+(?:\.[A-Za-z0-9_\-]{0,4096}+)?",
}
_BLANK, _HYPHEN = map(ord, " -")
_FRAMED = frozenset(("begin",))
# The last words of names that a sign follows, and of those before a secret in a sentence.
_NAMED = frozenset(
    (
        *("pass*", "pwd", "kennwort", "contrase*", "clave", "mdp", "secret", "*key", "keyid", "id"),
        *("*token", "credential", "credentials", "sessionid", "sid", "auth"),
    )
)
_TOLD = frozenset(
    (
        *("pass*", "pwd", "pw", "kennwort", "contrase*", "clave", "mdp", "secret", "token", "*key"),
        *("bearer", "basic"),
    )
)
_NAMES = (
    *("pass", "pw", "mdp"),
    *("secret", "token", "api", "key", "auth", "bearer", "kennwort", "contrase", "clave"),
    *("credential", "cookie", "session"),
)
_LONGEST_KEY = 20_000  # characters of a private key in its frame


@dataclass(frozen=True)
class ApiKey:
    """A secret of a machine or a person."""

    label: ClassVar[str] = "API_KEY"

    def where(self, page: Page) -> Iterable[int]:
        """The documents with the beginning of a key, or with a name for one before a sign.

        A key may stand right after a letter beyond ASCII, where no word begins, and some letters
        beyond ASCII count as others; documents with such letters are always looked at more closely.
        """
        words, codes = page.words, page.runs.codes
        framed = words.starts[words.among(_FRAMED)]
        framed = framed[codes[framed - 1] == _HYPHEN]
        begun = words.starts[words.among(_beginnings())]
        named, told = words.ends_of(_NAMED), words.ends_of(_TOLD)
        signs = [among(codes[named + distance], ":=") for distance in range(4)]
        named = named[np.logical_or.reduce(signs)]
        found = page.documents_at(np.concatenate([begun, named, told[codes[told] == _BLANK]]))
        close = _beginnings_in(page, sorted({*found, *page.beyond.tolist()}))
        return page.documents_at(np.concatenate([framed, close]))

    def find(self, reading: Reading) -> Iterator[Found]:
        """Framed keys, keys by their beginning, and values by their names."""
        text = reading.text
        if "-----BEGIN" in text:
            yield from self._framed(text)
        for prefix, pattern in _keys():
            if prefix in text:
                for match in pattern.finditer(text):
                    reason = "begins like a key of a known service"
                    yield Found(match.start(), match.end(), self.label, "key-prefix", reason)
        if reading.mentions(_NAMES):
            yield from self._named(text)

    def _framed(self, text: str) -> Iterator[Found]:
        stop = 0
        for match in _frame().finditer(text):
            if match.start() < stop:
                continue
            end = text.find("-----END", match.end(), match.end() + _LONGEST_KEY)
            closing = _closing().match(text, end) if end >= 0 else None
            stop = closing.end() if closing else min(len(text), match.end() + _LONGEST_KEY)
            yield Found(match.start(), stop, self.label, "key-block", "a private key in its frame")

    def _named(self, text: str) -> Iterator[Found]:
        for match in _assignment().finditer(text):
            value = match["value"] or match["quoted"]
            if value.lower() not in _no_values() and not _hidden().fullmatch(value):
                place = match.span("value" if match["value"] else "quoted")
                yield Found(*place, self.label, "key-field", "the value of a field for a secret")
        for match in _told().finditer(text):
            if _is_odd(match["value"]):
                place = match.span("value")
                yield Found(*place, self.label, "key-context", "announced as a secret")


def _beginnings_in(page: Page, documents: list[int]) -> NDArray[np.int64]:
    """Where a key or a value under its name can begin in some documents."""
    runs = page.runs
    held = np.zeros(len(runs.codes), dtype=np.bool_)
    for number in documents:
        held[runs.offsets[number] : runs.limits[number]] = True
    inside = surely(runs.codes, LETTERS + DIGITS)
    held[1:] &= ~inside[:-1]
    held &= inside | (runs.codes >= BEYOND)
    places = np.flatnonzero(held)
    return places[_machine().can_match(runs.codes, places)]


@cache
def _machine() -> Automaton:
    """Says where a key or a value can begin."""
    keys = (pattern.pattern for _, pattern in _keys())
    return Automaton(*keys, _assignment().pattern, _told().pattern)


# Values that tell about a secret and are none.
_NO_VALUES = """
none null nil true false undefined required missing invalid expired wrong incorrect changed reset
empty redacted hidden failed forgotten correct error
"""


def _is_odd(word: str) -> bool:
    """Whether this is no word of a language: digits, signs, or a capital inside."""
    inner = word[1:]
    return not word.isalpha() or (inner != inner.lower() and inner != inner.upper())


@cache
def _beginnings() -> frozenset[str]:
    """The words with which keys and their frames begin; letters may follow most of them."""
    words = (re.split(r"[^A-Za-z]", prefix)[0] + "*" for prefix in _PREFIXES)
    return frozenset((*words, "authorization"))


@cache
def _no_values() -> frozenset[str]:
    return frozenset(_NO_VALUES.split())


@cache
def _keys() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (prefix, re.compile(rf"(?<![A-Za-z0-9]){re.escape(prefix)}{rest}"))
        for prefix, rest in _PREFIXES.items()
    )


@cache
def _frame() -> re.Pattern[str]:
    return re.compile(r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----")


@cache
def _closing() -> re.Pattern[str]:
    return re.compile(r"-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----")


@cache
def _hidden() -> re.Pattern[str]:
    return re.compile(r"[*•.xX#\-]+|\[[^\]]*\]|<[^>]*>|\$?\{[^}]*\}|%\([^)]*\)s")


@cache
def _assignment() -> re.Pattern[str]:
    """A name that ends like one of a secret, a sign between, a value."""
    name = (
        r"(?:pass(?:word|wd|code|phrase|wort)?|pwd|kennwort|contrase(?:ñ|n)a|clave"
        r"|mot[ _\-]de[ _\-]passe|mdp|secret"
        r"|(?:api|access|private|secret|signing|encryption|auth|account)[_\-. ]?key(?:[_\-]?id)?"
        r"|apikey"
        r"|(?:auth|access|refresh|id|csrf|session|bot|api)?[_\-]?token|client[_\-]secret"
        r"|credentials?"
        r"|session[_\-]?id|sessionid|sid|auth)"
    )
    return re.compile(
        rf"(?i)(?<![A-Za-z0-9]){_LEAD}{name}[\"']?[ \t]{{0,2}}(?:=>|:=|[:=])[ \t]{{0,2}}"
        r"(?:(?:bearer|basic|token)[ ])?"
        r"(?:[\"'](?P<quoted>[^\"'\n]{4,512}+)[\"']|(?P<value>[^\s\"',;&<>()]{4,4096}+))"
    )


_LEAD = r"(?:[A-Za-z0-9]{1,24}[_\-.]){0,3}?"


@cache
def _told() -> re.Pattern[str]:
    name = (
        r"(?:password|passcode|passphrase|passwort|kennwort|pwd|pw|pass|contrase(?:ñ|n)a|clave"
        r"|mot de passe"
        r"|mdp|secret|token|(?:api|access|secret) ?key)"
    )
    return re.compile(
        rf"(?i)(?<![A-Za-z0-9])(?:{name} (?:(?:is|was|ist|lautet|es|est|war|now|jetzt"
        rf"|still)[ ]){{0,2}}"
        r"|(?:authorization: ?)?(?:bearer|basic) )"
        r"[\"'`]?(?P<value>[^\s\"'`,;()]{5,4096}(?<![.!?:]))"
    )
