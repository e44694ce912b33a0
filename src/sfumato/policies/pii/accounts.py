"""Names under which people log in, as logs and forms write them: ``user=jdoe``, "Login: jdoe".

The name of the field is kept: only the value is the span. Names of machines' accounts are nobody's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sfumato.policies.pii.cues import NOT_NAMES
from sfumato.policies.pii.names import list_names
from sfumato.policies.pii.reading import Page, Reading
from sfumato.policies.pii.runs import BEYOND, among

# How the name of such a field ends, right before its sign; it is looked for there only.
_ENDS = (
    *("user", "name", "id", "usr", "login", "logon", "owner", "_by", "_to", "-by", "-to"),
    *("changedby", "createdby", "updatedby", "assignedto", "benutzer", "kennung", "usuario"),
    "utilisateur",
)
_LONGEST, _FARTHEST = 28, 300
_COLON, _EQUALS, _BLANK = map(ord, ":= ")
_FIELD = (
    r"(?:remote|auth|db|os|sudo|e)?[_\-.]?"
    r"(?:user(?:[_\-. ]?(?:name|id))?|log[io]n(?:[_\-. ]?(?:name|id))?|uid|owner"
    r"|(?:changed|created|updated|assigned)[_\-]?(?:by|to)|account[_\-. ]?name"
    r"|benutzer(?:name|kennung)?|(?:nombre de )?usuario|(?:nom d')?utilisateur)"
)
# Accounts of machines, and values that say that there is none.
_NOBODY = """
root admin administrator system nobody guest anonymous unknown none null nil true false undefined
test user users default public service daemon postgres mysql www www-data nginx apache git ubuntu
ec2-user jenkins ansible docker deploy bot support required missing invalid empty na yes no
"""


def find_accounts(page: Page) -> Iterator[tuple[int, tuple[int, int]]]:
    """Where the names stand, with the numbers of their documents.

    >>> text = "user=jdoe uid=1000 user=root"
    >>> [text[start:end] for _, (start, end) in find_accounts(Page([text]))]
    ['jdoe']
    """
    for number, signs in page.spots(_signs).items():
        yield from ((number, place) for place in _after_signs(page.readings[number], signs))


def _after_signs(reading: Reading, signs: list[int]) -> Iterator[tuple[int, int]]:
    text, reached = reading.text, 0
    for sign in signs:
        end = sign - (text[sign - 1 : sign] == " ")
        end -= text[end - 1 : end] in ('"', "'")
        if end < reached or not reading.small.endswith(_ENDS, max(0, end - _LONGEST), end):
            continue
        farthest = min(len(text), end + _FARTHEST)
        match = _assignment().search(text, max(reached, end - _LONGEST), farthest)
        if match and (match.end() < farthest or farthest == len(text)):
            reached = match.end()
            name = match[kind := str(match.lastgroup)].lower()
            if name not in _nobody() and (kind != "told" or name not in _ordinary()):
                yield match.span(kind)


def _signs(page: Page) -> NDArray[np.int64]:
    """Colons and equals signs after two letters with which the name of such a field can end."""
    codes = page.runs.codes
    signs = np.flatnonzero((codes == _COLON) | (codes == _EQUALS))
    ends = signs - (codes[signs - 1] == _BLANK)
    ends = ends - among(codes[ends - 1], "\"'")
    last, first = codes[ends - 1], codes[ends - 2]
    found = (last >= BEYOND) | (first >= BEYOND)
    for pair in {ending[-2:] for ending in _ENDS}:
        held = among(first, pair[0] + pair[0].upper()) & among(last, pair[1] + pair[1].upper())
        # Chats begin lines with "USR:"; the short form is one before an equals sign only.
        found |= held & (codes[signs] == _EQUALS) if pair == "sr" else held
    spots: NDArray[np.int64] = signs[found]
    return spots


@cache
def _nobody() -> frozenset[str]:
    return frozenset(_NOBODY.split())


@cache
def _ordinary() -> frozenset[str]:
    return list_names().words | frozenset(NOT_NAMES.split())


@cache
def _assignment() -> re.Pattern[str]:
    """After an equals sign the next word; after a colon a word in quotes or one that ends its line.

    Chats begin lines with "User:" and go on with anything; a name there begins with a small letter.
    """
    value = r"[A-Za-z][A-Za-z0-9_]{0,40}+(?:[.\-][A-Za-z0-9_]{1,40}+){0,4}+(?![@\\(:])"
    ended = r"(?=[ \t]*+(?:[;|\])}\n\r]|\Z))"
    return re.compile(
        rf"(?<![A-Za-z0-9_\-.])(?:(?i:{_FIELD})"
        rf"(?:[\"']?=[\"']?(?P<name>{value})"
        rf"|[\"']? ?: ?(?:[\"'](?P<quoted>{value})[\"']|(?P<told>(?=[a-z]){value}){ended}))"
        rf"|(?i:usr)=(?P<short>{value}))"
    )
