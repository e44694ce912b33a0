"""Requests that Presidio documents, asked of this service: the same shapes, and what differs.

The requests are those of its API documentation and its tests end to end. Scores and names of
recognizers are ours; where an answer differs otherwise, it does so on purpose, and is stated here.
"""

from __future__ import annotations

from typing import Any

import pytest

from running_service import Running

LICENSE = "John Smith drivers license is AC432223"
HELLO = "hello world, my name is Jane Doe. My number is: 034453334"
NAME = {"start": 24, "end": 32, "score": 0.8, "entity_type": "NAME"}
FIRST = {"start": 24, "end": 28, "score": 0.8, "entity_type": "FIRST_NAME"}
LAST = {"start": 29, "end": 32, "score": 0.6, "entity_type": "LAST_NAME"}
PHONE = {"start": 48, "end": 57, "score": 0.95, "entity_type": "PHONE_NUMBER"}
PARK = "I'm George Washington Square Park"
OVERLAPPING = [
    {"start": 4, "end": 21, "score": 0.8, "entity_type": "NAME"},
    {"start": 11, "end": 33, "score": 0.8, "entity_type": "LOCATION"},
]
ZIP = {
    "name": "Zip code Recognizer",
    "supported_language": "en",
    "patterns": [{"name": "zip code (weak)", "regex": r"(\b\d{5}(?:\-\d{4})?\b)", "score": 0.01}],
    "supported_entity": "ZIP",
}


def anonymized(service: Running, text: str, found: list[Any], **operators: Any) -> Any:
    body = {"text": text, "analyzer_results": found, "anonymizers": operators}
    return service.ask("/anonymize", body)


# --- analyze --------------------------------------------------------------------------------------


def test_a_text_is_analyzed(free: Running) -> None:
    asked = free.ask("/analyze", {"text": LICENSE, "language": "en"})
    assert asked.status_code == 200
    person, number = asked.json()
    assert person == {
        "entity_type": "PERSON", "start": 0, "end": 10, "score": 1.0, "analysis_explanation": None,
    }  # fmt: skip
    assert (number["start"], number["end"]) == (30, 38)


@pytest.mark.parametrize(
    "more",
    [
        {"score_threshold": 0.7}, {"correlation_id": "123e4567-e89b-12d3-a456-426614174000"},
        {"trace": True}, {"context": ["Driver license"]}, {"return_decision_process": False},
    ],
)  # fmt: skip
def test_what_else_may_be_sent_changes_nothing(free: Running, more: dict[str, Any]) -> None:
    plain = free.ask("/analyze", {"text": LICENSE, "language": "en"}).json()
    assert free.ask("/analyze", {"text": LICENSE, "language": "en"} | more).json() == plain


def test_many_texts_have_many_answers(free: Running) -> None:
    several = free.ask("/analyze", {"text": [LICENSE, LICENSE], "language": "en"}).json()
    assert several == [free.ask("/analyze", {"text": LICENSE, "language": "en"}).json()] * 2


def test_a_decision_is_explained_if_asked_for(free: Running) -> None:
    body = {"text": LICENSE, "language": "en", "return_decision_process": True}
    person, _ = free.ask("/analyze", body).json()
    told = person["analysis_explanation"]
    assert told["recognizer"]
    assert told["textual_explanation"]
    assert told["score"] == told["original_score"] == 1.0


def test_only_wanted_types_are_found_by_either_name(free: Running) -> None:
    for name in ("PERSON",):
        found = free.ask("/analyze", {"text": LICENSE, "language": "en", "entities": [name]}).json()
        assert [one["entity_type"] for one in found] == ["PERSON"]
    call = "Call 515 555 0146 now"
    for name in ("PHONE_NUMBER", "PHONE"):
        found = free.ask("/analyze", {"text": call, "entities": [name]}).json()
        assert [one["entity_type"] for one in found] == ["PHONE_NUMBER"]
        ours = free.ask("/v1/analyze", {"text": call, "entities": [name]}).json()
        assert [one["entity_type"] for one in ours] == ["PHONE"]


def test_what_is_allowed_is_not_found(free: Running) -> None:
    body = {"text": "email: admin@github.com", "language": "en"}
    assert free.ask("/analyze", body).json()[0]["entity_type"] == "EMAIL_ADDRESS"
    assert free.ask("/analyze", body | {"allow_list": ["admin@github.com"]}).json() == []


@pytest.mark.parametrize(
    "body",
    [
        {"text": LICENSE, "language": "en", "ad_hoc_recognizers": [ZIP]},
        {"text": LICENSE, "allow_list": [".*@a.com"], "allow_list_match": "regex"},
    ],
)  # fmt: skip
def test_differs_patterns_of_a_caller_are_refused(free: Running, body: dict[str, Any]) -> None:
    asked = free.ask("/analyze", body)
    assert (asked.status_code, asked.json()["type"]) == (422, "InvalidArgument")
    assert "'lexicon'" in asked.json()["detail"]


def test_differs_a_request_without_a_text_is_the_callers_mistake(free: Running) -> None:
    for body in ({}, {"language": "en"}):
        asked = free.ask("/analyze", body)
        assert (asked.status_code, asked.json()["type"]) == (422, "BadRequest")
        assert asked.json()["errors"] == [{"where": ["body", "text"], "kind": "missing"}]


def test_differs_no_language_is_needed_and_none_is_unknown(free: Running) -> None:
    with_it = free.ask("/analyze", {"text": LICENSE, "language": "en"}).json()
    assert free.ask("/analyze", {"text": LICENSE}).json() == with_it
    assert free.ask("/analyze", {"text": LICENSE, "language": "zz"}).status_code == 200


# --- anonymize ------------------------------------------------------------------------------------


def test_a_default_and_an_operator_for_one_type(free: Running) -> None:
    asked = anonymized(
        free, HELLO, [NAME, FIRST, LAST, PHONE],
        DEFAULT={"type": "replace", "new_value": "ANONYMIZED"},
        PHONE_NUMBER={"type": "mask", "masking_char": "*", "chars_to_mask": 4, "from_end": True},
    )  # fmt: skip
    assert asked.status_code == 200
    assert asked.json()["text"] == "hello world, my name is ANONYMIZED. My number is: 03445****"
    assert asked.json()["items"] == [
        {"operator": "mask", "entity_type": "PHONE_NUMBER", "start": 50, "end": 59,
         "text": "03445****"},
        {"operator": "replace", "entity_type": "NAME", "start": 24, "end": 34,
         "text": "ANONYMIZED"},
    ]  # fmt: skip


def test_redacted_is_taken_out(free: Running) -> None:
    person = NAME | {"entity_type": "PERSON"}
    asked = anonymized(
        free, HELLO, [person, PHONE], PERSON={"type": "redact"},
        PHONE_NUMBER={"type": "replace", "new_value": "ANONYMIZED"},
    )  # fmt: skip
    assert asked.json()["text"] == "hello world, my name is . My number is: ANONYMIZED"
    assert asked.json()["items"][1] == {
        "operator": "redact", "entity_type": "PERSON", "start": 24, "end": 24, "text": "",
    }  # fmt: skip


@pytest.mark.parametrize("text", ["", "hello world! nice to meet you!"])
def test_nothing_found_changes_nothing(free: Running, text: str) -> None:
    asked = anonymized(free, text, [], DEFAULT={"type": "replace", "new_value": "ANONYMIZED"})
    assert asked.status_code == 200
    assert (asked.json()["text"], asked.json()["items"]) == (text, [])


def test_without_an_operator_the_type_is_put_in(free: Running) -> None:
    body = {"text": HELLO, "analyzer_results": [NAME]}
    told = free.ask("/anonymize", body).json()
    assert told["text"] == "hello world, my name is <NAME>. My number is: 034453334"


def test_kept_stays_and_is_listed(free: Running) -> None:
    asked = anonymized(
        free, HELLO, [NAME, PHONE], NAME={"type": "keep"}, PHONE_NUMBER={"type": "replace"}
    )
    assert asked.json()["text"] == "hello world, my name is Jane Doe. My number is: <PHONE_NUMBER>"
    assert [(one["operator"], one["text"]) for one in asked.json()["items"]] == [
        ("replace", "<PHONE_NUMBER>"), ("keep", "Jane Doe"),
    ]  # fmt: skip
    assert asked.json()["guarantee"]["for_release"] is False


@pytest.mark.parametrize(("kind", "digits"), [("sha256", 64), ("sha512", 128)])
def test_a_hash_has_its_length_and_another_salt_each_time(
    free: Running, kind: str, digits: int
) -> None:
    twice = [
        anonymized(free, HELLO, [NAME], DEFAULT={"type": "hash", "hash_type": kind}).json()
        for _ in range(2)
    ]
    first, second = (one["items"][0]["text"] for one in twice)
    assert len(first) == len(second) == digits
    assert first != second


@pytest.mark.parametrize(
    ("name", "location", "wanted"),
    [
        ("keep", "replace", "I'm <LOCATION>"),
        ("replace", "keep", "I'm <NAME>"),
        ("mask", "replace", "I'm <LOCATION>"),
        ("keep", "keep", PARK),
        ("replace", "replace", "I'm <NAME>"),
    ],
)
def test_differs_what_overlaps_is_one_stretch_and_the_stronger_operator_wins(
    free: Running, name: str, location: str, wanted: str
) -> None:
    """Presidio keeps one of the two in full, or writes the overlap twice."""
    asked = anonymized(
        free, PARK, OVERLAPPING,
        NAME={"type": name, "masking_char": "*", "chars_to_mask": 2}, LOCATION={"type": location},
    )  # fmt: skip
    assert asked.json()["text"] == wanted
    assert len(asked.json()["items"]) == 1


def test_what_is_taken_out_is_not_left_to_a_mechanism(free: Running) -> None:
    close = {"type": "laplace", "epsilon": 1000}
    asked = anonymized(free, PARK, OVERLAPPING, NAME=close, LOCATION={"type": "redact"})
    assert asked.json()["text"] == "I'm "
    asked = anonymized(free, PARK, OVERLAPPING, NAME={"type": "keep"}, LOCATION=close)
    assert asked.json()["items"][0]["operator"] == "laplace"


def test_releases_of_one_text_add_up_only_if_they_replace_the_same_places(charged: Running) -> None:
    """Otherwise an account would state a level for a word that another release leaves as it is."""
    text, found = "Ask Ada Lovelace", [{"start": 4, "end": 16, "entity_type": "PERSON"}]

    def status(results: list[dict[str, Any]]) -> tuple[int, str]:
        body = {
            "text": text,
            "analyzer_results": results,
            "anonymizers": {"PERSON": {"type": "laplace", "epsilon": 5}},
            "account": {"kind": "text", "id": "given"},
        }
        asked = charged.ask("/v1/anonymize", body)
        return asked.status_code, asked.text

    assert [status(found)[0] for _ in range(2)] == [200, 200]
    for other in ([], [found[0] | {"end": 7}], [found[0] | {"entity_type": "NAME"}]):
        refused, told = status(other)
        assert refused == 409
        assert "Lovelace" not in told
    assert status(found)[0] == 200


@pytest.mark.parametrize(
    "operator",
    [
        {"type": "custom", "new_value": "lambda x:  x[::-1]"},
        {"type": "encrypt", "key": "3t6w9z$C&F)J@NcR"},
    ],
)
def test_differs_encryption_and_code_of_a_caller_are_refused(
    free: Running, operator: dict[str, Any]
) -> None:
    asked = anonymized(free, HELLO, [NAME], DEFAULT=operator)
    assert (asked.status_code, asked.json()["type"]) == (422, "InvalidArgument")
    assert "is not offered" in asked.json()["detail"]


def test_a_body_that_is_not_json(free: Running) -> None:
    token = {"Authorization": f"Bearer {free.token}", "Content-Type": "application/json"}
    content = b'{"text": "hello", "anonymizers": {"DEFAULT": {"type": "redact"},},}'
    asked = free.http.post("/anonymize", headers=token, content=content)
    assert (asked.status_code, asked.json()["type"]) == (400, "UnreadableJson")


@pytest.mark.parametrize(("start", "end"), [(24, 320), (30, 20), (-1, 4)])
def test_places_outside_of_the_text_are_refused(free: Running, start: int, end: int) -> None:
    asked = anonymized(free, HELLO, [{"start": start, "end": end, "entity_type": "NAME"}])
    assert asked.status_code == 422


# --- lists ----------------------------------------------------------------------------------------


def test_lists_are_lists_of_names_whatever_is_asked_with_them(free: Running) -> None:
    for path in ("/recognizers", "/supportedentities", "/anonymizers"):
        for query in ("", "?language=en", "?language=he", "?uknown=input"):
            found = free.ask(path + query, method="GET")
            assert found.status_code == 200
            assert all(isinstance(one, str) for one in found.json())
    entities = free.ask("/supportedentities?language=en", method="GET").json()
    assert {"PERSON", "PHONE_NUMBER", "EMAIL_ADDRESS", "IBAN_CODE", "LOCATION"} <= set(entities)
    operators = free.ask("/anonymizers", method="GET").json()
    assert {"hash", "mask", "redact", "replace", "laplace"} <= set(operators)
    assert not {"custom", "encrypt"} & set(operators)


def test_every_operator_that_is_listed_works(free: Running) -> None:
    levels = {one["name"]: one["level"] for one in free.ask("/v1/mechanisms", method="GET").json()}
    for name in free.ask("/anonymizers", method="GET").json():
        epsilon = {} if levels.get(name, "none") == "none" else {"epsilon": 5}
        asked = anonymized(free, HELLO, [NAME], DEFAULT={"type": name} | epsilon)
        assert asked.status_code == 200, (name, asked.json())
        assert asked.json()["items"][0]["operator"] == name


def test_differs_nothing_is_undone(free: Running) -> None:
    assert free.ask("/deanonymize", {"text": "x"}).status_code == 404
    assert free.ask("/deanonymizers", method="GET").status_code == 404
    assert free.http.get("/health").json()["status"] == "ok"
