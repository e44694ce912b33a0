"""The calls of a client.

>>> from sfumato import Client
>>> Client("http://privacy.example.org", "a-token")
Traceback (most recent call last):
    ...
sfumato.core.errors.InvalidArgument: over http:// everybody on the way reads the token and the \
texts: use https://, or allow it in a network of your own (allow_http)
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, TypedDict, TypeVar, Unpack, overload

from sfumato.accounting.budget.accounts import AccountName
from sfumato.client import answers
from sfumato.client.answers import (
    AccountState,
    Anonymized,
    Health,
    MechanismOffer,
    PolicyOffer,
    Preview,
    Released,
)
from sfumato.client.transport import Transport
from sfumato.core.errors import InvalidArgument, ServiceFailed
from sfumato.guarantees.guarantee import Guarantee
from sfumato.text.span import Span

LONGEST_KEY = 200
Texts = list[str] | tuple[str, ...]
AnswerT = TypeVar("AnswerT")


class Choices(TypedDict, total=False):
    """What is sensitive, what is put in its place, and how strongly; all of it may be left out.

    ``policy`` names one or several policies, ``lexicon`` further words and phrases that are
    sensitive, ``allow_list`` those that are not; ``settings`` are those of the mechanism, and
    ``pii.KEY`` those of the policy ``pii``.
    """

    policy: str | Sequence[str]
    lexicon: Sequence[str]
    allow_list: Sequence[str]
    mechanism: str
    epsilon: float
    by_type: Mapping[str, str]
    settings: Mapping[str, bool | int | float | str | Sequence[str]]
    unknown: str
    case: str


class Client(AbstractContextManager["Client"]):
    """A service at ``url``, asked with a token.

    ``token`` is the token itself, a ``Path`` to a file that holds it, or None for the environment
    variable SFUMATO_TOKEN. A request that fails on the way, or that the service is too busy for, is
    sent again up to ``retries`` times, each time after a longer wait. ``timeout`` is in seconds.

    An account is named ``KIND:ID``, as in ``sfumato.Budget``. Errors are those of the package.
    """

    def __init__(
        self,
        url: str,
        token: str | Path | None = None,
        *,
        timeout: float = 90.0,
        retries: int = 5,
        allow_http: bool = False,
    ) -> None:
        self._transport = Transport(
            url, token, timeout=timeout, retries=retries, allow_http=allow_http
        )

    def __repr__(self) -> str:
        return f"Client({self._transport.url!r})"

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def health(self) -> Health:
        """Whether the service runs, and its version."""
        return _read(
            lambda found: Health(found["status"], found["version"]), self._transport.read("/health")
        )

    def mechanisms(self) -> tuple[MechanismOffer, ...]:
        """The mechanisms that can be asked for."""
        found = self._transport.read("/v1/mechanisms")
        return _read(lambda given: tuple(MechanismOffer(**one) for one in given), found)

    def policies(self) -> tuple[PolicyOffer, ...]:
        """The policies that can be asked for."""
        found = self._transport.read("/v1/policies")
        return _read(
            lambda given: tuple(
                PolicyOffer(one["name"], one["summary"], tuple(one["types"])) for one in given
            ),
            found,
        )

    @overload
    def analyze(self, text: str, **choices: Unpack[Choices]) -> tuple[Span, ...]: ...

    @overload
    def analyze(self, text: Texts, **choices: Unpack[Choices]) -> list[tuple[Span, ...]]: ...

    def analyze(
        self, text: str | Texts, **choices: Unpack[Choices]
    ) -> tuple[Span, ...] | list[tuple[Span, ...]]:
        """What is sensitive in one text, or in each of several; only policies matter here."""
        body = {"text": _texts(text)} | _checked(choices, _OF_POLICIES)
        found = self._transport.ask("/v1/analyze", body)
        if isinstance(text, str):
            return _read(answers.spans, found)
        return _read(lambda given: [answers.spans(one) for one in given], found)

    def privatize(
        self,
        text: str | Texts,
        *,
        account: str | None = None,
        key: str | None = None,
        **choices: Unpack[Choices],
    ) -> Released:
        """Release one text, or several together, and let an account pay for it.

        ``key`` is made here unless it is given. Whoever gives one can ask again in another process
        for what was charged and never arrived.
        """
        body = {"text": _texts(text)} | _paying(account) | _checked(choices)
        own = _key(key)
        found = self._transport.ask("/v1/privatize", body, key=own)
        return _read(lambda given: Released.read(given, own), found)

    def anonymize(
        self,
        text: str,
        found: Iterable[Span],
        operators: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        account: str | None = None,
        key: str | None = None,
    ) -> Anonymized:
        """A text with something else at the places that were found, in Presidio's way.

        ``operators`` maps a type, or DEFAULT, to an operator: ``{"PERSON": {"type": "laplace",
        "epsilon": 5}, "DEFAULT": {"type": "redact"}}``.
        """
        places = [
            {"start": one.start, "end": one.end, "entity_type": one.label, "score": 1.0}
            for one in found
        ]
        body = {
            "text": text,
            "analyzer_results": places,
            "anonymizers": {kind: dict(one) for kind, one in (operators or {}).items()},
        } | _paying(account)
        own = _key(key)
        answer = self._transport.ask("/v1/anonymize", body, key=own)
        return _read(lambda given: Anonymized.read(given, own), answer)

    def explain(self, text: str, *, draws: int = 400, **choices: Unpack[Choices]) -> Preview:
        """What would happen to a text, word by word; nothing is charged, and nothing released."""
        body = {"text": text, "draws": draws} | _checked(choices)
        return _read(Preview.read, self._transport.ask("/v1/explain", body))

    def guarantee(self, **choices: Unpack[Choices]) -> Guarantee:
        """What would be guaranteed, without a text."""
        found = self._transport.ask("/v1/guarantee", _checked(choices))
        return _read(answers.guarantee, found)

    def open_account(
        self,
        account: str,
        limit: float,
        *,
        measure: str = "level",
        delta: float = 0.0,
        order: float | None = None,
    ) -> AccountState:
        """Open an account; its limit never changes, and is ``inf`` where a level has none."""
        body = {
            **_named(account),
            "measure": measure,
            "limit": None if limit == math.inf else limit,
            "delta": delta,
            "order": order,
        }
        return _read(AccountState.read, self._transport.ask("/v1/accounts", body, method="PUT"))

    def close_account(self, account: str) -> AccountState:
        """Close an account for good."""
        found = self._transport.ask("/v1/accounts/close", _named(account))
        return _read(AccountState.read, found)

    def account(self, account: str, *, delta: float = 1e-5) -> AccountState:
        """An account as it stands, and what holds at its limit, at some delta."""
        found = self._transport.ask("/v1/budget", {**_named(account), "delta": delta})
        return _read(AccountState.read, found)

    def report(self, account: str, *, delta: float = 1e-5) -> str:
        """A page about an account, in Markdown."""
        found = self._transport.ask("/v1/report", {**_named(account), "delta": delta})
        return _read(lambda given: str(given["markdown"]), found)


_OF_POLICIES = ("policy", "lexicon", "allow_list", "settings")


def _checked(choices: Choices, known: Iterable[str] = Choices.__annotations__) -> dict[str, Any]:
    """What was chosen, for JSON; a mistyped name must not be a weaker protection."""
    names = tuple(known)
    for name in choices:
        if name not in names:
            raise InvalidArgument(f"{name!r} cannot be chosen here; known: {', '.join(names)}")
    return {name: _plain(value) for name, value in choices.items() if value is not None}


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    return list(value) if isinstance(value, (tuple, set, frozenset)) else value


def _texts(text: str | Texts) -> str | list[str]:
    return text if isinstance(text, str) else list(text)


def _key(given: str | None) -> str:
    """The key of a release, as a header takes it."""
    key = secrets.token_hex(16) if given is None else given
    plain = key.isascii() and key.isprintable() and key == key.strip()
    if not plain or not 0 < len(key) <= LONGEST_KEY:
        raise InvalidArgument(
            f"a key of a release has 1 to {LONGEST_KEY} letters, digits and signs of ASCII"
        )
    return key


def _paying(account: str | None) -> dict[str, Any]:
    return {} if account is None else {"account": _named(account)}


def _named(account: str) -> dict[str, str]:
    name = AccountName.read(account)
    return {"kind": name.kind.value, "id": name.id}


def _read(reading: Callable[[Any], AnswerT], found: Any) -> AnswerT:
    """An answer as an object, or the error that it is none; the answer is not quoted."""
    try:
        return reading(found)
    except (AttributeError, InvalidArgument, KeyError, TypeError, ValueError):
        pass
    raise ServiceFailed(
        "the service answered something that this version does not understand; use the same "
        "version on both sides"
    )
