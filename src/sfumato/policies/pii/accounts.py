"""Names under which people log in, as logs and forms write them: ``user=jdoe``, "Login: jdoe".

The name of the field is kept: only the value is the span. Names of machines' accounts are nobody's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from sfumato.policies.pii.cues import NOT_NAMES
from sfumato.policies.pii.names import list_names

# How the name of such a field ends, right before its sign; it is looked for there only.
_ENDS = (
    *("user", "name", "id", "usr", "login", "logon", "owner", "_by", "_to", "-by", "-to"),
    *("changedby", "createdby", "updatedby", "assignedto", "benutzer", "kennung", "usuario"),
    "utilisateur",
)
_LONGEST, _FARTHEST = 28, 300
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


def find_accounts(text: str, small: str) -> Iterator[tuple[int, int]]:
    """Where the names stand; ``small`` is the text in small letters.

    >>> text = "user=jdoe uid=1000 user=root"
    >>> [text[start:end] for start, end in find_accounts(text, text)]
    ['jdoe']
    """
    reached = 0
    for sign in _sign().finditer(text):
        end = sign.start()
        end -= text[end - 1 : end] == " "
        end -= text[end - 1 : end] in ('"', "'")
        if end < reached or not small.endswith(_ENDS, max(0, end - _LONGEST), end):
            continue
        farthest = min(len(text), end + _FARTHEST)
        match = _assignment().search(text, max(reached, end - _LONGEST), farthest)
        if match and (match.end() < farthest or farthest == len(text)):
            reached = match.end()
            name = match[kind := str(match.lastgroup)].lower()
            if name not in _nobody() and (kind != "told" or name not in _ordinary()):
                yield match.span(kind)


@cache
def _nobody() -> frozenset[str]:
    return frozenset(_NOBODY.split())


@cache
def _ordinary() -> frozenset[str]:
    return list_names().words | frozenset(NOT_NAMES.split())


@cache
def _sign() -> re.Pattern[str]:
    return re.compile(r"[:=]")


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
