"""Words of each language in its own space: routes, statements, files, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sfumato
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.by_type import LANGUAGE_LEAK, ByType
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.selective import Selective
from sfumato.mechanisms.vocabulary import OverVocabulary
from sfumato.policies.patterns import Regex
from sfumato.releases.privatizer import Privatizer
from sfumato.text.document import Document
from sfumato.vectors.space import Space

GERMAN = ["paket", "karton", "kiste", "brief"]
ENGLISH = ["parcel", "carton", "box", "letter"]
SPANISH = "el paquete que no está con mi carta y por favor es muy urgente"
SECRET = Regex("(?i)paket|parcel|paquete")


def space(name: str, words: list[str]) -> Space:
    return Space(name, words, np.eye(len(words), 3, dtype=np.float32))


SPACES = {"en": space("english", ENGLISH), "de": space("german", GERMAN)}


def made(**settings: object) -> Privatizer:
    given: dict[str, object] = {"policy": SECRET, "epsilon": 0.1, "vectors": SPACES} | settings
    return Privatizer(**given)  # type: ignore[arg-type]


def table_of(privatizer: Privatizer) -> ByType:
    assert isinstance(privatizer.selective, Selective)
    assert isinstance(privatizer.selective.mechanism, ByType)
    return privatizer.selective.mechanism


def word_put_in(selective: Selective, text: str, language: str = "") -> str:
    document = Document(text, language=language)
    (result,) = selective.privatize([document], Randomness.secure())
    (edit,) = result.edited.edits
    return edit.replacement


def stays_in_its_language(selective: Selective) -> bool:
    """Whether the words put in are of the document's language, over many draws."""
    drawn = {
        code: {word_put_in(selective, text, code) for _ in range(60)}
        for code, text in (("de", "das paket"), ("en", "the parcel"), ("es", "un paquete"))
    }
    return drawn["de"] <= set(GERMAN) and drawn["en"] <= set(ENGLISH) and drawn["es"] == {"[MATCH]"}


def test_words_stay_in_their_language_and_others_are_masked() -> None:
    selective = made().selective
    assert isinstance(selective, Selective)
    assert stays_in_its_language(selective)


def test_the_check_rejects_a_table_that_forgets_the_language() -> None:
    table = table_of(made())
    assert isinstance(table.otherwise, OverVocabulary)
    for sabotaged in (
        replace(table, by_language=()),
        replace(table, language="", by_language=()),
        replace(table, by_language=(("de", table.otherwise),)),
    ):
        assert not stays_in_its_language(Selective(policy=SECRET, mechanism=sabotaged))


def test_the_language_is_guessed_from_what_stands_in_the_clear() -> None:
    selective = made().selective
    assert isinstance(selective, Selective)
    text = "Ich habe mein Paket nicht erhalten und bin verärgert"
    assert word_put_in(selective, text).lower() in GERMAN
    assert word_put_in(selective, SPANISH.replace("carta", "casa")) == "[MATCH]"


def test_the_statement_names_every_space_and_that_the_language_shows() -> None:
    stated = made().guarantee()
    (words,) = [part.guarantee for part in stated.parts if not part.types]
    assert "en: " in words.metric
    assert "german" in words.metric
    assert words.epsilon == 0.1
    assert LANGUAGE_LEAK in stated.leaks
    assert {id(one) for one in SPACES.values()} <= {id(one) for one in words.about}


def test_the_level_is_the_worst_of_any_language() -> None:
    table = table_of(made())
    strong, weak = (
        OverVocabulary(points=Laplace(space=SPACES["de"], epsilon=level)) for level in (0.1, 7.0)
    )
    for other, level in ((strong, 0.1), (weak, 7.0)):
        stated = replace(table, by_language=(("de", other),)).guarantee()
        assert max(part.guarantee.epsilon for part in stated.parts if not part.types) == level


def test_other_spaces_are_another_table() -> None:
    one, other = made().identity, made(vectors={"de": SPACES["en"], "en": SPACES["en"]}).identity
    assert one is not None
    assert other is not None
    assert one.spelled != other.spelled
    swapped = made(vectors={"en": SPACES["en"], "fr": SPACES["de"]}).identity
    assert swapped is not None
    assert swapped.spelled != one.spelled


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"vectors": {"german": "x.vec"}}, "go by the code of the language"),
        ({"mechanism": "laplace"}, "are for `mechanism='auto'`"),
        ({"epsilon": None}, "masked as long as there is no epsilon"),
        ({"mechanism": "redact", "epsilon": None}, "uses no word vectors"),
        ({"levels": [(1, "pii")], "epsilon": None, "policy": "pii"}, "one space for all"),
    ],
)
def test_what_makes_no_sense_is_refused(settings: dict[str, object], complaint: str) -> None:
    with pytest.raises(InvalidArgument, match=complaint):
        made(**settings).guarantee()


def test_a_table_has_one_mechanism_for_a_language() -> None:
    table = table_of(made())
    german = table.by_language[0]
    for wrong in ((german, german), (("en", german[1]),), (("", german[1]),)):
        with pytest.raises(InvalidArgument, match="two word mechanisms"):
            replace(table, by_language=wrong)


def test_one_mechanism_for_all_other_types_takes_every_language() -> None:
    selective = made(by_type={"OTHER": "redact"}).selective
    assert isinstance(selective, Selective)
    assert {word_put_in(selective, "das paket", code) for code in ("de", "en", "es")} == {"[MATCH]"}


def test_a_file_with_a_field_for_the_language(tmp_path: Path) -> None:
    rows = [("de", "das paket"), ("en", "the parcel"), ("es", "un paquete")] * 10
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    lines = [json.dumps({"lang": code, "text": text}) + "\n" for code, text in rows]
    source.write_text("".join(lines), encoding="utf-8")
    release = sfumato.privatize(
        source, output, policy=SECRET, epsilon=0.1, vectors=SPACES, language_field="lang",
        keep="lang",
    )  # fmt: skip
    after = [json.loads(line)["text"].split()[1] for line in output.read_text().splitlines()]
    assert set(after[0::3]) <= set(GERMAN)
    assert set(after[1::3]) <= set(ENGLISH)
    assert set(after[2::3]) == {"[MATCH]"}
    assert release.summary["settings"]["vectors"] == {"en": "english", "de": "german"}
    assert release.summary["settings"]["language_field"] == "lang"


def test_explain_says_why_a_word_is_masked() -> None:
    told = sfumato.explain(SPANISH, policy=SECRET, epsilon=0.1, vectors=SPACES)
    (word,) = told.words
    assert (word.replacement, word.kept) == ("[MATCH]", None)
    assert "reads like 'es'" in word.reason
    german = "Ich habe mein Paket nicht erhalten und bin verärgert"
    (word,) = sfumato.explain(german, policy=SECRET, epsilon=0.1, vectors=SPACES).words
    assert word.kept is not None


def test_several_words_of_a_language_without_vectors_are_one_mask() -> None:
    text = "Ich habe mein rotes Paket nicht erhalten und bin verärgert"
    told = sfumato.explain(text, policy="regex:rotes Paket", epsilon=5)
    assert [word.original for word in told.words] == ["rotes Paket"]
