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
_ENDS = ("user", "name", "id", "usr", "login", "logon", "owner", "_by", "_to", "-by", "-to") + (
    "changedby", "createdby", "updatedby", "assignedto", "benutzer", "kennung", "usuario",
    "utilisateur",
)  # fmt: skip
_LONGEST, _FARTHEST = 28, 200
_FIELD = (
    r"(?:remote|auth|db|os|sudo|e)?[_\-.]?"
    r"(?:user(?:[_\-. ]?(?:name|id))?|usr|log[io]n(?:[_\-. ]?(?:name|id))?|uid|owner"
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
        if end < reached or not small.endswith(_ENDS, max(0, end - _LONGEST), end):
            continue
        match = _assignment().search(text, max(reached, end - _LONGEST), end + _FARTHEST)
        if match:
            reached = match.end()
            name, plain = match["name"], (match["name"] or match["told"]).lower()
            if plain not in _nobody() and (name or plain not in _ordinary()):
                yield match.span("name" if name else "told")


@cache
def _nobody() -> frozenset[str]:
    return frozenset(_NOBODY.split())


@cache
def _ordinary() -> frozenset[str]:
    return list_names().words | frozenset(NOT_NAMES.split())


@cache
def _sign() -> re.Pattern[str]:
    return re.compile(r"[\"']? ?[:=]")


@cache
def _assignment() -> re.Pattern[str]:
    """After an equals sign the next word; after a colon only a word that ends its line or field."""
    value = r"[A-Za-z][A-Za-z0-9_]{0,40}+(?:[.\-][A-Za-z0-9_]{1,40}+){0,4}+(?![@\\(:])"
    return re.compile(
        rf"(?i)(?<![A-Za-z0-9_\-.])(?:{_FIELD})"
        rf"(?:[\"']?=[\"']?(?P<name>{value})"
        rf"|[\"']? ?: ?[\"']?(?P<told>{value})(?=[\"']|[ \t]*+(?:[,;|\])}}\n\r]|\Z)))"
    )
