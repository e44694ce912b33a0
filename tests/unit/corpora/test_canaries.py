"""Canaries: planted where they should be, counted, removed, and read back from a manifest."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from sfumato.core.errors import BadInput, InvalidArgument, StorageFailed
from sfumato.core.randomness import Randomness
from sfumato.corpora.canaries import (
    Canary,
    Insertion,
    InsertionPlan,
    Manifest,
    Place,
    Planted,
    PlantedCanary,
    draw_secret,
    insert_canaries,
    lone_canaries,
    plan_insertions,
    read_manifest,
    remove_canaries,
)
from sfumato.corpora.planting import plant_alone, plant_in_file
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.text.document import Document

CANARIES = (Canary(), Canary("USR: the code is {} 🙂", "007"), Canary("PIN {}", "é x"))
TEXTS = st.lists(
    st.text()
    | st.text(st.sampled_from("ab. \r\n!🙂\u0301"))
    | st.lists(st.sampled_from(["One.", "Two", "3."])).map("\r\n".join),
    min_size=1,
    max_size=6,
)
REPETITIONS = st.lists(st.integers(0, 15), min_size=3, max_size=3)
WRITTEN = (Canary("My ID is {}.", "0042"), Canary("Key {}", "a7-x"), Canary("Code {}", "99"))
WRITTEN_OFTEN = (3, 1, 0)


def planted(texts: list[str], repetitions: list[int], seed: int) -> list[Planted]:
    documents = [Document(text, f"d{number}") for number, text in enumerate(texts)]
    made = plan_insertions(len(texts), repetitions, Randomness.reproducible(seed))
    return list(insert_canaries(documents, made, CANARIES))


@given(TEXTS, REPETITIONS, st.integers(0, 99))
def test_every_place_holds_its_canary(texts: list[str], repetitions: list[int], seed: int) -> None:
    for number, (document, places) in enumerate(planted(texts, repetitions, seed)):
        for place in places:
            assert document.text[place.start : place.end] == CANARIES[place.canary].text
            assert (place.document, place.id) == (number, f"d{number}")
        assert [place.start for place in places] == sorted(place.start for place in places)


@given(TEXTS, REPETITIONS, st.integers(0, 99))
def test_removal_gives_the_text_back(texts: list[str], repetitions: list[int], seed: int) -> None:
    restored = [
        remove_canaries(*pair) for pair in _texts_and_places(planted(texts, repetitions, seed))
    ]
    assert [text.encode() for text in restored] == [text.encode() for text in texts]


@given(TEXTS, REPETITIONS, st.integers(0, 99))
def test_neighboring_canaries_never_touch(
    texts: list[str], repetitions: list[int], seed: int
) -> None:
    for document, places in planted(texts, repetitions, seed):
        for place in places:
            around = document.text[: place.start][-1:] + document.text[place.end :][:1]
            # Only a full stop of the East may stand right before a canary; here there is none.
            assert around.isspace() or not around


def _texts_and_places(made: list[Planted]) -> list[tuple[str, tuple[Place, ...]]]:
    return [(document.text, places) for document, places in made]


@given(st.integers(1, 30), st.lists(st.integers(0, 70), max_size=3), st.integers(0, 99))
def test_canaries_are_spread_as_evenly_as_can_be(
    documents: int, repetitions: list[int], seed: int
) -> None:
    made = plan_insertions(documents, repetitions, Randomness.reproducible(seed))
    for canary, wanted in enumerate(repetitions):
        each = [
            sum(insertion.canary == canary for insertion in made.insertions.get(number, ()))
            for number in range(documents)
        ]
        assert sum(each) == wanted
        assert max(each) - min(each) <= 1


def unevenness(counts: list[int]) -> float:
    """The probability that fair draws are at least this uneven."""
    expected = sum(counts) / len(counts)
    statistic = sum((seen - expected) ** 2 for seen in counts) / expected
    return float(chi2.sf(statistic, len(counts) - 1))


def test_every_document_is_equally_likely() -> None:
    seen: Counter[int] = Counter()
    randomness = Randomness.reproducible(11)
    for _ in range(3000):
        seen.update([*plan_insertions(12, [3], randomness).insertions])
    assert unevenness([seen[number] for number in range(12)]) > 1e-6
    # The twin: a plan that never reaches the last document but takes the first instead.
    twin = seen + Counter({0: seen.pop(11)})
    assert unevenness([twin[number] for number in range(12)]) < 1e-6


def test_every_boundary_is_equally_likely_and_a_twin_that_prefers_the_start_is_caught() -> None:
    documents = [Document("One. Two. Three. Four.")] * 2000
    fair = plan_insertions(2000, [2000], Randomness.reproducible(3))
    squared = {
        number: [made[0]._replace(fraction=made[0].fraction ** 2)]
        for number, made in fair.insertions.items()
    }
    twin = InsertionPlan(2000, (2000,), squared)

    def starts(made: InsertionPlan) -> list[int]:
        found = Counter(p.places[0].start for p in insert_canaries(documents, made, [Canary()]))
        return list(found.values())

    assert len(starts(fair)) == 5
    assert unevenness(starts(fair)) > 1e-6
    assert unevenness(starts(twin)) < 1e-6


def test_secrets_are_uniform_over_the_whole_space_and_a_twin_without_zeros_is_caught() -> None:
    randomness = Randomness.reproducible(5)
    secrets = [draw_secret(2, randomness) for _ in range(20_000)]
    counts = Counter(secrets)
    assert unevenness([counts[f"{number:02}"] for number in range(100)]) > 1e-6
    without = Counter(secret for secret in secrets if secret[0] != "0")
    assert unevenness([without[f"{number:02}"] for number in range(100)]) < 1e-6


@pytest.mark.parametrize("digits", [1, 6, 40])
def test_a_secret_has_as_many_digits_as_asked(digits: int) -> None:
    secret = draw_secret(digits, Randomness.secure())
    assert len(secret) == digits
    assert secret.isascii()
    assert secret.isdigit()
    assert Canary(secret=secret).secret_space == 10**digits


def test_the_space_of_a_secret_that_is_no_number_is_unknown() -> None:
    assert Canary(secret="swordfish").secret_space is None
    assert Canary(secret="١٢٣").secret_space is None


def only(text: str, canary: Canary, fraction: float) -> str:
    """The text with the canary put at that part of it."""
    made = InsertionPlan(1, (1,), {0: [Insertion(0, fraction)]})
    return next(insert_canaries([Document(text)], made, [canary])).document.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["<1>"]),
        ("One", ["<1> One", "One <1>"]),
        ("One. Two.", ["<1> One. Two.", "One. <1> Two.", "One. Two. <1>"]),
        ("A\r\nB\r\n", ["<1>\r\nA\r\nB\r\n", "A\r\n<1>\r\nB\r\n", "A\r\nB\r\n<1>\r\n"]),
        ("A\nB", ["<1>\nA\nB", "A\n<1>\nB", "A\nB\n<1>"]),
    ],
)
def test_a_canary_stands_between_sentences_or_lines(text: str, expected: list[str]) -> None:
    fractions = [(place + 0.5) / len(expected) for place in range(len(expected))]
    assert [only(text, Canary("<{}>", "1"), fraction) for fraction in fractions] == expected


def test_zero_repetitions_change_nothing() -> None:
    documents = [Document("a"), Document("", "x", "me", ("l",))]
    made = list(
        insert_canaries(documents, plan_insertions(2, [0], Randomness.secure()), [Canary()])
    )
    assert made == [Planted(documents[0], ()), Planted(documents[1], ())]
    assert list(insert_canaries([], plan_insertions(0, [0], Randomness.secure()), [Canary()])) == []


def test_all_repetitions_go_into_a_single_document() -> None:
    (document, places), *rest = insert_canaries(
        [Document("")], plan_insertions(1, [4], Randomness.secure()), [Canary(secret="1")]
    )
    assert (document.text, len(places), rest) == (" ".join(["My ID is 1."] * 4), 4, [])


def test_author_labels_and_id_are_kept() -> None:
    original = Document("Text.", "7", "me", ("good",))
    (document, places), *_ = insert_canaries(
        [original], plan_insertions(1, [1], Randomness.secure()), [Canary()]
    )
    assert (document.id, document.author, document.labels) == ("7", "me", ("good",))
    assert places[0].id == "7"


def test_documents_are_read_one_at_a_time() -> None:
    endless = (Document(f"Document {number}.") for number in count())
    made = insert_canaries(endless, plan_insertions(10**6, [3], Randomness.secure()), [Canary()])
    assert len(list(islice(made, 5))) == 5


@pytest.mark.parametrize(("there", "words"), [(2, "there were only 2"), (4, "there are more")])
def test_a_plan_for_another_number_of_documents_is_refused(there: int, words: str) -> None:
    made = insert_canaries(
        [Document("a")] * there, plan_insertions(3, [1], Randomness.secure()), [Canary()]
    )
    with pytest.raises(BadInput, match=f"the plan is for 3 documents, {words}"):
        list(made)


def test_a_plan_for_other_canaries_is_refused_at_once() -> None:
    with pytest.raises(InvalidArgument, match="the plan is for 2 canaries, 1 were given"):
        insert_canaries([], plan_insertions(3, [1, 1], Randomness.secure()), [Canary()])


@pytest.mark.parametrize(
    ("documents", "repetitions", "words"),
    [(0, [1], "at least one document"), (-1, [0], "documents=-1"), (3, [-2], "repetitions=-2")],
)
def test_a_plan_that_cannot_be_is_refused(
    documents: int, repetitions: list[int], words: str
) -> None:
    with pytest.raises(InvalidArgument, match=words):
        plan_insertions(documents, repetitions, Randomness.secure())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"template": "My ID is 5."}, "exactly once"),
        ({"template": "{} and {}"}, "exactly once"),
        ({"secret": ""}, "must not be empty"),
        ({"template": "a\n{}"}, "on one line"),
        ({"secret": "1\u2028"}, "on one line"),
        ({"secret": "1\r"}, "on one line"),
    ],
)
def test_a_canary_that_cannot_be_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        Canary(**settings)


def test_half_a_character_is_refused() -> None:
    with pytest.raises(BadInput, match="lone surrogate"):
        Canary(secret="\ud800")


def test_other_braces_in_a_template_are_left_alone() -> None:
    assert Canary('{"id": {}}', "5").text == '{"id": 5}'


def test_the_same_seed_gives_the_same_plan() -> None:
    one, other, third = (
        plan_insertions(50, [5, 2], Randomness.reproducible(seed)) for seed in (1, 1, 2)
    )
    assert one == other
    assert one != third


def test_the_manifest_says_everything_and_fits_into_json() -> None:
    canaries = (Canary(secret="0042"), Canary("The word is {}.", "swordfish"))
    made = plan_insertions(3, [2, 1], Randomness.reproducible(1))
    documents = [Document("One. Two.", "a"), Document("B\r\nC"), Document("")]
    results = list(insert_canaries(documents, made, canaries))
    manifest = Manifest(canaries, made, tuple(p for result in results for p in result.places))
    read = json.loads(json.dumps(manifest.as_dict()))
    assert read == manifest.as_dict()
    assert (read["schema"], read["documents"]) == (1, 3)
    assert read["canaries"] == [
        {
            "template": "My ID is {}.",
            "secret": "0042",
            "text": "My ID is 0042.",
            "secret_space": 10_000,
            "repetitions": 2,
        },
        {
            "template": "The word is {}.",
            "secret": "swordfish",
            "text": "The word is swordfish.",
            "secret_space": None,
            "repetitions": 1,
        },
    ]
    assert len(read["places"]) == 3
    places = [Place(**place) for place in read["places"]]
    for number, original in enumerate(documents):
        own = [place for place in places if place.document == number]
        assert remove_canaries(results[number].document.text, own) == original.text


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("One. Two.\nThree.\nFour. Five.\n")
    planted = tmp_path / "planted.txt"
    plant_in_file(
        Source.of(corpus, Layout()), planted, WRITTEN, WRITTEN_OFTEN, Randomness.reproducible(1)
    )
    return tmp_path / "planted.txt.canaries.json"


def test_it_comes_back_as_it_was_planted(manifest: Path) -> None:
    expected = tuple(map(PlantedCanary, WRITTEN, WRITTEN_OFTEN))
    assert read_manifest(manifest) == expected


def _set(**changes: object) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["canaries"][0].update(changes)


BROKEN: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "no places": (lambda content: content.pop("places"), "schema, canaries and places"),
    "another schema": (lambda content: content.update(schema=2), "schema 2"),
    "no canary": (lambda content: content["canaries"].clear(), "lists no canary"),
    "no list": (lambda content: content.update(canaries="?"), "lists no canary"),
    "an unknown key": (_set(color="red"), "canary 1 must have exactly"),
    "a key missing": (lambda content: content["canaries"][1].pop("text"), "canary 2 must have"),
    "a number for a secret": (_set(secret=42), "must be text"),
    "part of a repetition": (_set(repetitions=2.5), "whole number"),
    "fewer than none": (_set(repetitions=-1), "whole number"),
    "true for one": (_set(repetitions=True), "whole number"),
    "more than there are": (_set(repetitions=4), "canary 1 has repetitions 4"),
    "another secret": (_set(secret="1234"), "text is not the template"),
    "no blank": (_set(template="My ID."), "canary 1: template="),
    "another space": (_set(secret_space=10**6), "secret_space must be 10000"),
    "a place of nobody": (lambda content: content["places"][0].update(canary=9), "places"),
    "one place too many": (
        lambda content: content["places"].append({"canary": 7}),
        "not in the list",
    ),
    "a place without a canary": (lambda content: content["places"].append({}), "names its canary"),
    "places that are none": (lambda content: content.update(places=3), "names its canary"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_does_not_agree_with_itself_is_refused(manifest: Path, name: str) -> None:
    damage, said = BROKEN[name]
    content = json.loads(manifest.read_text())
    damage(content)
    manifest.write_text(json.dumps(content))
    with pytest.raises(BadInput, match=said) as caught:
        read_manifest(manifest)
    assert str(manifest) in str(caught.value)


@pytest.mark.parametrize("content", ["", "no JSON", "[1, 2]", '"text"', "\x00"])
def test_another_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(content)
    with pytest.raises(BadInput, match="not a manifest of canaries"):
        read_manifest(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match=r"cannot read .*gone\.json"):
        read_manifest(tmp_path / "gone.json")


# --- alone ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["notes.jsonl", "notes.txt"])
def test_lone_canaries_are_documents_at_the_end(tmp_path: Path, name: str) -> None:
    texts = ["One. Two.", "Three 🙂."]
    as_json = name.endswith("jsonl")
    lines = [json.dumps({"text": one}) if as_json else one for one in texts]
    (tmp_path / name).write_text("\n".join(lines), "utf-8")  # no newline at the end
    target = tmp_path / f"planted-{name}"
    source = Source.of(tmp_path / name, Layout())
    manifest = plant_alone(source, target, WRITTEN, WRITTEN_OFTEN)
    found = [one.text for one in Source.of(target, Layout()).documents()]
    assert found[:2] == texts
    assert Counter(found[2:]) == {WRITTEN[0].text: 3, WRITTEN[1].text: 1}
    for place in manifest.places:
        assert found[place.document][place.start : place.end] == WRITTEN[place.canary].text
    beside = tmp_path / f"{target.name}.canaries.json"
    assert [one.repetitions for one in read_manifest(beside)] == list(WRITTEN_OFTEN)
    with pytest.raises(StorageFailed):
        plant_alone(source, target, WRITTEN, WRITTEN_OFTEN)


def test_lone_canaries_need_a_file_to_which_lines_can_be_added(tmp_path: Path) -> None:
    (tmp_path / "notes.csv").write_text("text\nOne.\n")
    source = Source.of(tmp_path / "notes.csv", Layout())
    with pytest.raises(InvalidArgument, match="documents are added to jsonl"):
        plant_alone(source, tmp_path / "out.csv", WRITTEN, WRITTEN_OFTEN)
    with pytest.raises(InvalidArgument, match="3 secrets need as many repetitions, not 2"):
        lone_canaries(5, (1, 2), WRITTEN)


def test_lone_canaries_have_authors_of_their_own(tmp_path: Path) -> None:
    corpus, target = tmp_path / "notes.jsonl", tmp_path / "planted.jsonl"
    corpus.write_text(json.dumps({"text": "One.", "by": "ada"}) + "\n")
    source = Source.of(corpus, Layout(author_field="by"))
    plant_alone(source, target, WRITTEN[:1], (2,))
    authors = [one.author for one in Source.of(target, Layout(author_field="by")).documents()]
    assert authors == ["ada", "canary-1-1", "canary-1-2"]
    spans = [{"start": 0, "end": 3, "label": "PERSON"}]
    corpus.write_text(json.dumps({"text": "One.", "spans": spans}) + "\n")
    with pytest.raises(InvalidArgument, match="remove the field 'spans'"):
        plant_alone(Source.of(corpus, Layout()), tmp_path / "out.jsonl", WRITTEN[:1], (2,))
