"""A canary: words that stand nowhere else, sent to every endpoint in every place and every shape.

Whatever repeats one of them has repeated something of a request.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

WORD = "Qzxvbird"  # as a person would write a name
NUMBER = 7345198206
STEMS = (b"qzxv", str(NUMBER).encode())
TEXT = f"Ask {WORD} Lovelace ({WORD}@example.org) at {NUMBER} about {WORD}."
ACCOUNT = {"kind": "text", "id": WORD}
FOUND = {"start": 4, "end": 12, "entity_type": "PERSON", "score": 1.0}
LEVEL = {"mechanism": "laplace", "epsilon": 5}
# A body that works, for each path; what is sent is made of these.
WORKING: dict[str, tuple[str, dict[str, Any]]] = {
    "/v1/analyze": ("POST", {"text": TEXT, "lexicon": [WORD]}),
    "/analyze": ("POST", {"text": TEXT, "language": "en", "allow_list": [WORD]}),
    "/v1/anonymize": ("POST", {"text": TEXT, "analyzer_results": [FOUND]}),
    "/anonymize": ("POST", {"text": TEXT, "analyzer_results": [FOUND]}),
    "/v1/privatize": ("POST", {"text": TEXT, "account": ACCOUNT, **LEVEL}),
    "/v1/guarantee": ("POST", {"lexicon": [WORD], **LEVEL}),
    "/v1/explain": ("POST", {"text": TEXT, "draws": 2, **LEVEL}),
    "/v1/explain/word": ("POST", {"text": TEXT, "draws": 2, "start": 4, **LEVEL}),
    "/v1/compare": (
        "POST",
        {"text": WORD, "mechanisms": ["laplace", "exponential"], "epsilon": 5, "draws": 2},
    ),
    "/v1/accounts": ("PUT", {**ACCOUNT, "limit": 1e6}),
    "/v1/budget": ("POST", ACCOUNT),
    "/v1/report": ("POST", ACCOUNT),
    "/v1/accounts/close": ("POST", {"kind": "text", "id": f"{WORD} never opened"}),
}
# What comes of these holds the text, as it should; of all others nothing may.
SHOWN = (
    "/v1/anonymize", "/anonymize", "/v1/privatize", "/v1/explain", "/v1/explain/word",
    "/v1/compare",
)  # fmt: skip
SHAPES: tuple[Any, ...] = (
    WORD, f"{WORD}'\n\"\\{WORD}", f"{WORD}:{WORD}={WORD}", f"pii:{WORD}", f"pii.{WORD}",
    [WORD], [[WORD]], {WORD: WORD}, {"PERSON": WORD}, {"PERSON": f"laplace:{WORD}=1"},
    {WORD: {"type": WORD}}, {"DEFAULT": {"type": "laplace", "settings": {WORD: WORD}}},
    {f"pii.{WORD}": 1}, {"pii.types": [WORD]}, {"pii.regions": [WORD]}, {"consistent": WORD},
    {"language": WORD}, [{"start": WORD, "end": 1, "entity_type": WORD}],
    {"kind": WORD, "id": WORD}, NUMBER, -NUMBER, NUMBER + 0.5, [NUMBER], {"window": NUMBER},
    WORD * 3000,
)  # fmt: skip
FEW = (1, 7, 9, 19)  # of the shapes, for fields that are plain and for paths that are slow
_RICH = ("anonymizers", "analyzer_results", "account", "by_type", "mechanism", "policy", "settings")
_THOROUGH = ("/v1/analyze", "/v1/guarantee", "/v1/anonymize")


@dataclass(frozen=True)
class Sent:
    """A request, and what was answered."""

    what: str
    path: str
    status: int
    content: bytes = field(repr=False)
    headers: tuple[tuple[str, str], ...] = field(repr=False, default=())


Ask = Callable[[str, str, bytes, dict[str, Any]], Any]


def requests(
    fields: dict[str, list[str]], *, few: bool
) -> Iterator[tuple[str, str, bytes, dict[str, Any]]]:
    """What is sent: method, path, body, and further headers."""
    some = tuple(SHAPES[number] for number in (FEW[:2] if few else FEW))
    for path, (method, body) in WORKING.items():
        yield method, path, _written(body), {"Idempotency-Key": f"{WORD}-{path[-5:]}"}
        yield (
            method,
            path,
            _written(body | {"text": TEXT + "."}),
            {"Idempotency-Key": f"{WORD}-{path[-5:]}"},
        )
        for name in (*fields[path], WORD):
            thorough = path in _THOROUGH and name in _RICH
            for shape in SHAPES if thorough and not few else some:
                yield method, path, _written(body | {name: shape}), {}
        for wrong in (
            f'{{"text": "{WORD}", }}', f'{{"text": "{WORD}', f'{{"{WORD}": \\u12}}', f'"{WORD}"',
            WORD, f'["{WORD}"]', f'{{"text": "\\ud800{WORD}"}}', "[" * 5000 + WORD,
        ):  # fmt: skip
            yield method, path, wrong.encode(), {}
        yield method, path, f'{{"text": "{WORD}'.encode() + b'\xff"}', {}
        yield method, path, _written(body), {"Content-Type": f"text/{WORD}"}
        yield method, path, _written(body), {"Host": f"{WORD}.example.org"}
        yield "DELETE", path, b"", {}
    yield (
        "POST",
        "/v1/privatize",
        _written({"text": TEXT, "account": ACCOUNT, **LEVEL}),
        {"Idempotency-Key": f"{WORD} é"},
    )
    yield (
        "POST",
        "/v1/privatize",
        _written({"text": TEXT, "account": ACCOUNT, **LEVEL}),
        {"Idempotency-Key": WORD * 50},
    )
    yield (
        "POST",
        "/v1/privatize",
        _written({"text": TEXT, "account": ACCOUNT, **LEVEL} | {"policy": "nothing"}),
        {},
    )
    yield "POST", "/v1/analyze", _written({"text": WORD * (1 << 20)}), {}
    for path in (
        f"/{WORD}", f"/v1/{WORD}", f"/studio/{WORD}", f"/v1/recognizers?language={WORD * 9}",
        f"/v1/policies?{WORD}={WORD}", f"/supportedentities?language={WORD}",
        f"/v1/analyze?text={WORD}", "/health", "/openapi.json", "/docs", "/metrics",
        "/v1/mechanisms",
    ):  # fmt: skip
        yield "GET", path, b"", {}
        yield "GET", path, b"", {"Authorization": f"Bearer sfumato_{WORD}_{WORD}"}
    yield WORD.upper(), "/v1/analyze", b"", {}


def send_everywhere(ask: Ask, document: dict[str, Any], *, few: bool = False) -> list[Sent]:
    """Send all of it; ``ask`` sends one request and gives the answer as httpx does."""
    fields = {path: list(_fields(document, path)) for path in WORKING}
    sent = []
    for method, path, body, headers in requests(fields, few=few):
        answer = ask(method, path, body, headers)
        what = f"{method} {path[:40]} {body[:200]!r} {headers}"
        told = tuple((name, value) for name, value in answer.headers.items())
        sent.append(Sent(what, path.partition("?")[0], answer.status_code, answer.content, told))
    return sent


def holds(content: bytes) -> bool:
    """Whether a canary is in it."""
    lowered = content.lower()
    return any(stem in lowered for stem in STEMS)


def _may_show(one: Sent) -> bool:
    """A release holds its text, and a guarantee the level that was asked for."""
    level = one.path == "/v1/guarantee" and STEMS[0] not in one.content.lower()
    return one.status == 200 and (one.path in SHOWN or level)


def repeated(sent: list[Sent]) -> list[str]:
    """The requests whose answers repeat a canary and should not."""
    return [
        f"{one.status} for {one.what}: {one.content[:300]!r}"
        for one in sent
        if holds(one.content) and not _may_show(one)
    ]


def _fields(document: dict[str, Any], path: str) -> Iterator[str]:
    (operation,) = document["paths"][path].values()
    name = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    yield from document["components"]["schemas"][name.rpartition("/")[2]]["properties"]


def _written(body: dict[str, Any]) -> bytes:
    return json.dumps(body).encode()
