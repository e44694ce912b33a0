"""The table by type: every kind has a mechanism, and what is put in depends on nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.core.kinds import KINDS
from sfumato.guarantees.guarantee import Notion
from sfumato.mechanisms.auto import Auto, change
from sfumato.mechanisms.by_type import ByType
from sfumato.mechanisms.date import Date
from sfumato.mechanisms.mechanism import StretchMechanism
from sfumato.mechanisms.number import Number
from sfumato.mechanisms.place import Place
from sfumato.mechanisms.pseudonym import Pseudonym
from sfumato.mechanisms.redact import Redact
from sfumato.mechanisms.selective import Selective
from sfumato.mechanisms.surrogates.surrogate import Surrogate
from sfumato.releases.privatizer import Privatizer

METRIC = {
    "AGE": Number,
    "DATE_TIME": Date,
    "LOCATION": Place,
    "MONEY": Number,
    "PERCENT": Number,
    "QUANTITY": Number,
}


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"NUMBER"}))
def test_every_kind_has_a_mechanism_of_its_own(kind: str) -> None:
    found = Auto().table({}).route(kind)
    assert isinstance(found, METRIC.get(kind, Surrogate))


def test_what_has_no_type_is_masked_without_a_level_and_never_treated_as_a_quantity() -> None:
    table = Auto().table({})
    for label in ("NUMBER", "MATCH", "WORK_OF_ART", ""):
        assert isinstance(table.route(label), Redact)


def test_labels_of_other_policies_mean_the_same_kinds() -> None:
    table = Auto().table({})
    assert table.route("GPE") is table.route("LOCATION")
    assert table.route("EMAIL_ADDRESS") is table.route("PERSON")


def test_the_table_can_be_changed() -> None:
    changes = {"PERSON": "redact", "DATE": "date:epsilon=0.05:shift=each", "OTHER": "redact"}
    table = Auto().table({}, changes)
    assert isinstance(table.route("PERSON"), Redact)
    assert isinstance(table.route("EMAIL"), Surrogate)
    date = table.route("DATE_TIME")
    assert isinstance(date, Date)
    assert (date.epsilon, date.shift) == (0.05, "each")
    mask = Redact()
    assert Auto().table({}, {"X-1": mask}).route("X-1") is mask


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"PERSON": "laplace"}, InvalidArgument, "does not replace whole stretches"),
        ({"PERSON": "auto"}, InvalidArgument, "does not replace whole stretches"),
        ({"PERSON": "surogate"}, InvalidArgument, "did you mean 'surrogate'"),
        ({"PERSON": "surrogate:consistent"}, InvalidArgument, "NAME:KEY=VALUE"),
        ({"PERSON": "surrogate:consitent=no"}, InvalidArgument, "did you mean 'consistent'"),
        ({"DATE": "date"}, InvalidArgument, "epsilon"),
        ({"DATE": "date:epsilon=-1"}, InvalidArgument, "epsilon"),
        ({"": "redact"}, InvalidArgument, "is not a type"),
        ({"a b": "redact"}, InvalidArgument, "is not a type"),
        ({"PERSON": 5}, InvalidArgument, "a name or a mechanism"),
    ],
)
def test_a_change_that_cannot_be_is_refused(
    changes: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        change(ByType(parts=(), otherwise=Redact()), changes)


def test_a_misspelt_setting_of_the_table_is_named() -> None:
    with pytest.raises(UnknownName, match="consistent"):
        Privatizer(settings={"consitent": "no"}).guarantee()


# Texts that differ in names, numbers and addresses of one form, found by the words around them.
POLICY = "pii:person,email,phone,iban,code"
PAIRS = [
    ("My name is Ada Lovelace, I am angry.", "My name is Wu Zhao, I am angry."),
    ("Mail ada@example.org please", "Mail zoe.williams@example.com please"),
    ("Call me at 515 555 0146 now", "Call me at 212 555 0199 now"),
    ("Pay to DE89 3704 0044 0532 0130 00.", "Pay to GB82 WEST 1234 5698 7654 32."),
    ("Order W68215985 is late", "Order W10000001 is late"),
]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_with_the_same_draws_the_same_comes_out_for_other_originals(
    first: str, second: str
) -> None:
    """From text to text, policy and all: surrogates do not depend on what stood there."""
    outputs = [Privatizer(policy=POLICY, seed=5).privatize([one])[0] for one in (first, second)]
    assert outputs[0] == outputs[1]
    assert outputs[0] not in (first, second)


def test_the_twin_that_keeps_the_format_is_seen() -> None:
    texts = ("Call me at 515 555 0146 now", "Call me at (212) 555-0199 now")
    for settings, different in (({}, False), ({"keep": "format"}, True)):
        outputs = {
            Privatizer(policy=POLICY, seed=5, settings=settings).privatize([one])[0]
            for one in texts
        }
        assert (len(outputs) == 2) == different


def test_the_same_person_has_one_name_in_a_document() -> None:
    text = "My name is Priya Raghunathan. Please call Priya Raghunathan. Ms. Raghunathan waits."
    (after,) = Privatizer().privatize([text])
    name = after.removeprefix("My name is ").split(".")[0]
    assert "Raghunathan" not in after
    assert after.count(name) == 2
    assert f"Ms. {name.split()[-1]}" in after


def test_words_of_another_language_are_never_replaced_by_english_ones() -> None:
    german = "Ich habe mein Paket nicht erhalten und bin sehr verärgert über den Zettel 77"
    english = "I was told that the parcel is on its way but the note 77 is not here"
    privatizer = Privatizer(policy=["digits", r"regex:Zettel|note"], epsilon=5)
    (foreign, known) = privatizer.privatize([german, english])
    assert "[MATCH]" in foreign
    assert "[NUMBER]" in foreign
    assert "[" not in known
    stated = privatizer.guarantee()
    assert "the language of each document" in stated.leaks


def test_without_a_level_everything_of_a_type_is_proven_and_for_release() -> None:
    guarantee = Privatizer().guarantee()
    assert guarantee.notion is Notion.BY_TYPE
    assert guarantee.for_release
    assert all(part.guarantee.notion is not Notion.NONE for part in guarantee.parts)


def test_the_parts_that_were_needed_are_stated_after_a_call() -> None:
    privatizer = Privatizer()
    privatizer.privatize(["Mail ada@example.org on 3 May 2021"])
    assert [part.types for part in privatizer.guarantee().parts] == [("EMAIL",), ("DATE_TIME",)]


def test_words_need_a_level_before_anything_about_words_is_chosen() -> None:
    with pytest.raises(InvalidArgument, match="epsilon"):
        Privatizer(unknown="keep").guarantee()


def test_a_table_may_stand_around_any_mechanism() -> None:
    privatizer = Privatizer(
        policy=["pii:email", "digits"], mechanism="laplace", epsilon=5, by_type={"EMAIL": "redact"}
    )
    (after,) = privatizer.privatize(["Mail ada@example.org, room 12"])
    assert "[EMAIL]" in after
    assert "12" not in after or after.endswith("12")
    parts = privatizer.guarantee().parts
    assert {part.types for part in parts} == {("EMAIL",), ("NUMBER",)}


def test_surrogates_of_a_corpus_need_a_key_that_lasts_to_be_resumed(tmp_path: object) -> None:
    assert Privatizer().resumable
    assert not Privatizer(settings={"consistent": "corpus"}).resumable
    assert Privatizer(settings={"consistent": "corpus"}, seed=1).resumable


def test_a_mechanism_of_stretches_is_what_a_route_gives() -> None:
    for one in Auto().table({}).mechanisms():
        assert isinstance(one, StretchMechanism)


def test_a_mechanism_by_its_name_has_the_settings_of_the_table() -> None:
    auto = Auto(consistent="document", keep=("format",), language="de", age_epsilon=0.5)
    table = auto.table({}, {"PERSON": "surrogate", "ORG": "surrogate:keep=domain", "AGE": "number"})
    assert table.route("PERSON") is table.route("EMAIL")
    org = table.route("ORG")
    assert isinstance(org, Surrogate)
    assert (org.keep, org.consistent, org.language) == ("domain", "document", "de")
    age = table.route("AGE")
    assert isinstance(age, Number)
    assert (age.epsilon, age.high) == (0.5, 120.0)
    dates = Auto(date_epsilon=0.3).table({}, {"DATE": "date:shift=each", "TIME": "date"})
    assert isinstance(dates.route("DATE"), Date)
    assert dates.route("DATE").guarantee().epsilon == dates.route("TIME").guarantee().epsilon == 0.3


def test_the_twin_that_forgets_them_is_seen() -> None:
    bare = change(ByType(parts=(), otherwise=Redact()), {"PERSON": "surrogate"}).route("PERSON")
    assert isinstance(bare, Surrogate)
    assert bare.consistent == "no"
    text = "My name is Priya Raghunathan. Please call Priya Raghunathan."
    (after,) = Privatizer(by_type={"PERSON": "surrogate"}).privatize([text])
    name = after.removeprefix("My name is ").split(".")[0]
    assert after.count(name) == 2


def test_a_key_is_inherited_only_by_what_has_one(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"k" * 32)
    auto = Auto(consistent="corpus", key_file=str(tmp_path / "key"))
    table = auto.table({}, {"ORG": "surrogate:consistent=document", "URL": "surrogate:keep=domain"})
    org, url = table.route("ORG"), table.route("URL")
    assert isinstance(org, Surrogate)
    assert isinstance(url, Surrogate)
    assert (org.key_file, url.key_file) == (None, str(tmp_path / "key"))


def test_two_names_of_one_type_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="DATE and DATE_TIME are names of one type"):
        Auto().table({}, {"DATE": "redact", "DATE_TIME": "date:epsilon=1"})
    with pytest.raises(InvalidArgument, match="one type"):
        ByType(parts=(("DATE", Redact()), ("DOB", Redact())), otherwise=Redact())
    alias = ByType(parts=(("DATE", Date(epsilon=1)),), otherwise=Redact())
    assert isinstance(alias.route("DATE_TIME"), Date)


def test_keys_of_different_sources_are_refused_and_of_one_source_are_one(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_bytes(name.encode() * 32)
    with pytest.raises(InvalidArgument, match="different sources"):
        Privatizer(
            settings={"consistent": "corpus", "key_file": str(tmp_path / "a")},
            by_type={"ORG": f"pseudonym:key_file={tmp_path / 'b'}"},
        ).guarantee()
    with pytest.raises(InvalidArgument, match="different sources"):
        Privatizer(
            settings={"consistent": "corpus"},
            by_type={"ORG": f"pseudonym:key_file={tmp_path / 'b'}"},
        ).guarantee()
    both = Privatizer(settings={"consistent": "corpus"}, by_type={"ORG": "pseudonym"}).selective
    assert isinstance(both, Selective)
    table = both.mechanism
    assert isinstance(table, ByType)
    keys = {
        one.key.code("x") for one in table.mechanisms() if isinstance(one, Pseudonym | Surrogate)
    }
    assert len(keys) == 1
