"""Bodies with two meanings are refused before anything is made of them."""

from __future__ import annotations

import json

import pytest

from running_service import TEXT, Running
from sfumato.service.problems import Problem
from sfumato.service.reading import DEEPEST, refuse_ambiguous

WHOLE = json.dumps({"text": TEXT, "mechanism": "laplace", "epsilon": 5})


@pytest.mark.parametrize(
    "body",
    [
        WHOLE.replace('"epsilon": 5', '"epsilon": 5, "epsilon": 0.001').encode(),
        WHOLE.replace('"epsilon"', '"text": "", "epsilon"').encode(),
        WHOLE.replace('"epsilon"', '"\\u0074ext": "", "epsilon"').encode(),
        WHOLE.replace("5}", '5, "account": {"kind": "text", "id": "a", "id": "b"}}').encode(),
        WHOLE.replace("5}", '5, "settings": {"a": NaN}}').encode(),
        WHOLE.replace("5}", "-Infinity}").encode(),
        WHOLE.encode("utf-16"), WHOLE.encode("utf-32-le"), b"\xef\xbb\xbf" + WHOLE.encode(),
        WHOLE.replace("Ada", "Adé").encode("latin-1"), WHOLE.encode() + b"{}", b"", b"{",
        b"{'a': 1}", b"[" * 100_000, b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1),
        b'{"a":' * 5000 + b"1" + b"}" * 5000,
        b'{"epsilon": ' + b"9" * 5000 + b"}", b"\x00", WHOLE.encode()[:-1] + b"\xff}",
    ],
)  # fmt: skip
def test_what_has_two_meanings_or_none_is_refused(free: Running, body: bytes) -> None:
    with pytest.raises(Problem) as caught:
        refuse_ambiguous(body)
    told = (caught.value.status, caught.value.kind)
    assert told == (400, "UnreadableJson")
    assert "Ada" not in caught.value.detail
    headers = {"Authorization": f"Bearer {free.token}", "Content-Type": "application/json"}
    for path in ("/v1/privatize", "/analyze"):
        asked = free.http.post(path, content=body, headers=headers)
        assert (asked.status_code, asked.json()["type"]) == told


@pytest.mark.parametrize(
    "body",
    [WHOLE, "[" * DEEPEST + "]" * DEEPEST, "null", '{"a": {"b": 1}, "c": {"b": 1}}', '"\\ud800"'],
)
def test_what_has_one_meaning_is_read_on(body: str) -> None:
    refuse_ambiguous(body.encode())
