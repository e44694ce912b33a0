"""Surrogates: settings, what the guarantee lists, names that go together, keys."""

from __future__ import annotations

import pickle
import string
from pathlib import Path

import pytest

from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.core.keys import Key
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion
from sfumato.mechanisms.build import build_stretch_mechanism
from sfumato.mechanisms.identity import mechanism_identity
from sfumato.mechanisms.mechanism import Keyed, StretchMechanism
from sfumato.mechanisms.pseudonym import EQUALITY_LEAK, KEY_LEAK, LINK_LEAK
from sfumato.mechanisms.selective import Selective
from sfumato.mechanisms.surrogates import form
from sfumato.mechanisms.surrogates.form import read_domain
from sfumato.mechanisms.surrogates.lists import read_lists
from sfumato.mechanisms.surrogates.names import read_name
from sfumato.mechanisms.surrogates.surrogate import (
    DOCUMENT_LEAK,
    FORM_LEAK,
    KEEP_LEAKS,
    LANGUAGE_LEAK,
    Surrogate,
)
from sfumato.policies.patterns import Regex
from sfumato.testing import check_mechanism
from sfumato.text.document import Document
from sfumato.text.span import Span, Stretch

EN = read_lists("en")


def stretch(text: str, label: str = "PERSON", language: str = "", before: str = "") -> Stretch:
    return Stretch(0, len(text), text, Span(0, len(text), label), language, before)


def names(mechanism: Surrogate, *texts: str, seed: int = 1) -> list[str]:
    return mechanism.replace([stretch(text) for text in texts], Randomness.reproducible(seed))


DOCUMENT = Surrogate(consistent="document")


@pytest.mark.parametrize(
    "settings",
    [{}, {"language": "de", "country": "FR"}, {"consistent": "document"}, {"consistent": "corpus"}],
)
def test_it_conforms(settings: dict[str, object]) -> None:
    check_mechanism("surrogate", settings=settings)


def test_settings_come_as_text_or_as_values() -> None:
    built = build_stretch_mechanism("surrogate", {"keep": "format, domain", "country": "GB"})
    assert isinstance(built, Surrogate)
    assert isinstance(built, StretchMechanism)
    assert built == Surrogate(keep=("domain", "format"), country="GB")
    assert Surrogate(keep="format") == Surrogate(keep=("format",))
    assert built.keep == "domain,format"
    assert mechanism_identity(Surrogate()) != mechanism_identity(Surrogate(keep="format"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"keep": "formats"}, "did you mean 'format'"),
        ({"consistent": "documents"}, "did you mean 'document'"),
        ({"language": "xx"}, "language='xx' must be one of en, de, es, fr"),
        ({"country": "XX"}, "country='XX' must be one of US, GB, DE, ES, FR"),
        ({"pattern": ""}, "pattern must be"),
        ({"pattern": "A\n"}, "pattern must be"),
        ({"key_file": "key"}, "key_file is for consistent='corpus'"),
    ],
)
def test_settings_that_are_none_are_refused(settings: dict[str, str], message: str) -> None:
    with pytest.raises((InvalidArgument, UnknownName), match=message):
        Surrogate(**settings)


def test_a_name_has_the_form_of_the_name() -> None:
    for seed in range(30):
        full, one, doctor, first, turned, owned = names(
            Surrogate(), "Wu Zhao", "Wu", "Dr. Wu", "J. Wu", "Wu, J. Zhao", "Wu's", seed=seed
        )
        given, family = full.split(" ")
        assert given in EN["given"]
        assert family in EN["family"]
        assert one in EN["given"]
        assert doctor.removeprefix("Dr. ") in EN["family"]
        initial, _, rest = first.partition(" ")
        assert len(initial) == 2
        assert rest in EN["family"]
        assert turned.partition(",")[0] in EN["family"]
        assert turned.endswith(tuple(EN["given"]))
        assert owned.removesuffix("'s") in EN["given"]


def test_a_title_chooses_the_gender_and_a_language_the_list() -> None:
    german, spanish = read_lists("de"), read_lists("es")
    for seed in range(30):
        (name,) = Surrogate().replace(
            [stretch("Frau Dr. Ada Lovelace", language="de")], Randomness.reproducible(seed)
        )
        assert name.startswith("Frau Dr. ")
        assert name.split()[2] in german["female"]
        assert name.split()[3] in german["family"]
        (name,) = Surrogate(language="es").replace(
            [stretch("Ada Lovelace Byron", language="de")], Randomness.reproducible(seed)
        )
        given, one, two = name.split()
        assert given in spanish["given"]
        assert {one, two} <= set(spanish["family"])


def test_a_title_of_another_language_is_a_name() -> None:
    english, spanish = Surrogate(language="en"), Surrogate(language="es")
    assert not any(names(english, "Don Okafor", seed=seed)[0][:4] == "Don " for seed in range(20))
    assert all(names(spanish, "Don Okafor", seed=seed)[0][:4] == "Don " for seed in range(20))


def test_long_names_have_four_words() -> None:
    assert len(names(Surrogate(), " ".join(["Wu"] * 30))[0].split()) == 4


def test_the_guarantee_is_independence_and_lists_what_shows() -> None:
    plain = Surrogate().guarantee()
    assert plain.notion is Notion.INDEPENDENT
    assert plain.epsilon == 0
    assert plain.for_release
    assert "any two values of one stretch of the same form" in plain.sentence()
    assert {FORM_LEAK, LANGUAGE_LEAK} <= set(plain.leaks)
    assert LANGUAGE_LEAK not in Surrogate(language="en").guarantee().leaks
    for one, leak in KEEP_LEAKS.items():
        kept = Surrogate(keep=one).guarantee()
        assert leak in kept.leaks
        assert leak not in plain.leaks
        assert f"with the same {one}" in kept.neighbors
    both = Surrogate(keep=("format", "domain")).guarantee()
    assert "with the same format and the same domain" in both.neighbors


def test_the_guarantee_of_consistency_says_that_equality_shows(tmp_path: Path) -> None:
    document = DOCUMENT.guarantee()
    assert DOCUMENT_LEAK in document.leaks
    assert "equal words of names" in document.neighbors
    corpus = Surrogate(consistent="corpus").guarantee()
    assert {EQUALITY_LEAK, KEY_LEAK} <= set(corpus.leaks)
    assert any("HMAC-SHA256" in leak for leak in corpus.leaks)
    assert LINK_LEAK not in corpus.leaks
    (tmp_path / "key").write_bytes(b"k" * 32)
    filed = Surrogate(consistent="corpus", key_file=str(tmp_path / "key")).guarantee()
    assert LINK_LEAK in filed.leaks


def test_the_same_entity_has_the_same_surrogate_within_a_document() -> None:
    found = DOCUMENT.replace(
        [
            stretch("020 7946-0958", "PHONE"),
            stretch("Acme Corp", "ORG"),
            stretch("(020) 79460958", "PHONE"),
            stretch("ACME  Corp", "ORG"),
            stretch("020 7946 0000", "PHONE"),
        ],
        Randomness.secure(),
    )
    assert found[0] == found[2] != found[4]
    assert found[1] == found[3]


@pytest.mark.parametrize("mechanism", [DOCUMENT, Surrogate(consistent="corpus")])
def test_parts_of_a_name_match(mechanism: Surrogate) -> None:
    full, given, doctor, alone, initial, other = names(
        mechanism,
        "Priya Raghunathan",
        "Priya",
        "Dr. Raghunathan",
        "RAGHUNATHAN's",
        "P. Raghunathan",
        "Priya Shah",
    )
    first, last = full.split()
    assert given == first
    assert doctor == f"Dr. {last}"
    assert alone == f"{last}'s"
    assert initial == f"{first[0]}. {last}"
    assert other.split()[0] == first
    assert other.split()[1] != last


def test_a_title_anywhere_in_a_document_chooses_the_gender() -> None:
    for seed in range(20):
        first, _ = names(DOCUMENT, "Priya Raghunathan", "Mrs. Raghunathan", seed=seed)
        assert first.split()[0] in EN["female"]


def test_different_entities_of_a_document_stay_different() -> None:
    people = [f"{one}ya {two}son" for one in "BCDFGHJKLM" for two in "BCDFGHJKLM"]
    assert len(set(names(DOCUMENT, *people))) == 100
    towns = [stretch(f"Town {number}", "LOCATION") for number in range(25)]
    assert len(set(DOCUMENT.replace(towns, Randomness.reproducible(1)))) == 25


def test_more_people_than_names_are_replaced_all_the_same() -> None:
    many = names(DOCUMENT, *(f"Wu{number}" for number in range(len(EN["given"]) + 5)))
    assert set(many) == set(EN["given"])


def test_documents_are_drawn_anew_without_a_key_and_alike_with_one() -> None:
    first, second = (names(DOCUMENT, "Wu Zhao", "a", seed=seed) for seed in (1, 2))
    assert first != second
    keyed = Surrogate(consistent="corpus").under(Key(b"k" * 32))
    alone = names(keyed, "Wu Zhao", seed=1)
    among = names(keyed, "Ada Lovelace", "Wu Zhao", seed=2)
    assert alone[0] == among[1]
    assert alone != names(keyed.under(Key(b"x" * 32)), "Wu Zhao")


def test_only_a_corpus_has_a_key_and_it_does_not_travel() -> None:
    keyed = Surrogate(consistent="corpus")
    kinds: list[object] = [Surrogate(), DOCUMENT, keyed]
    assert [isinstance(one, Keyed) for one in kinds] == [False, False, True]
    assert keyed.key.secret not in pickle.dumps(keyed)
    assert repr(keyed.key.secret) not in repr(keyed) + repr(vars(keyed))
    copied = pickle.loads(pickle.dumps(keyed))
    assert copied.key.secret != keyed.key.secret


def test_it_works_in_a_text_and_reads_the_title_before_a_name() -> None:
    policy = Regex("Okafor|Ada Lovelace", label="PERSON")
    selective = Selective(policy=policy, mechanism=DOCUMENT)
    text = "Ask Dr. Okafor or Ada Lovelace; Okafor knows."
    (result,) = selective.privatize([Document(text)], Randomness.secure())
    words = result.text.replace(";", "").split()
    assert words[2] in EN["family"]
    assert words[4] in EN["given"]
    assert result.text.startswith("Ask Dr. ")
    assert result.text.endswith(" knows.")


def test_no_text_stands_in_a_representation() -> None:
    from sfumato.mechanisms.surrogates.form import Reader
    from sfumato.mechanisms.surrogates.names import read_name

    one = stretch("Okafor")
    email = stretch("ada@secret.example", "EMAIL")
    shown = repr(read_name(one, "en")) + repr(Reader(frozenset({"domain", "format"})).read(email))
    assert "okafor" not in shown.lower()
    assert "secret" not in shown


@pytest.mark.parametrize("language", ["en", "de", "es", "fr"])
def test_no_letter_of_an_initial_and_no_first_word_shows_in_the_shape(language: str) -> None:
    """Search: any initial, and any first word, also one that is a particle or a title elsewhere."""

    def shape(text: str) -> object:
        stretch = Stretch(0, len(text), text, Span(0, len(text), "PERSON"), language)
        return read_name(stretch, language).shape

    initials = {shape(f"{letter}. Gore") for letter in string.ascii_uppercase}
    assert len(initials) == 1
    assert len({shape(f"{letter} Gore") for letter in string.ascii_uppercase}) == 1
    words = {shape(f"{word} Gore") for word in ("Al", "El", "Van", "De", "Do", "Ada", "Xu", "AL")}
    assert len(words) == 1
    # The twin, which drops particles wherever they stand, has two shapes.
    assert shape("Al Gore") != shape("Gore")
    assert shape("van Gore") == shape("Gore")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("adalovelace", "EMAIL"),
        ("ada.lovelace", "EMAIL"),
        ("ada@lovelace", "EMAIL"),
        ("ada@site.com张伟", "EMAIL"),
        ("ada@site.com.5551234", "EMAIL"),
        ("https://81.99.12.70/x", "URL"),
        ("lovelace", "URL"),
    ],
)
def test_what_is_no_domain_does_not_stay_as_one(text: str, kind: str) -> None:
    (put,) = Surrogate(keep="domain").replace([stretch(text, kind)], Randomness.secure())
    assert "example." in put
    assert read_domain(text, kind) == ""


def test_the_domain_of_a_url_is_its_own_and_not_that_of_an_address_in_it() -> None:
    for text in ("https://site.org?to=ada@lovelace.de", "https://site.org#ada@lovelace.de"):
        assert read_domain(text, "URL") == "site.org"
    assert read_domain("https://ada:word@site.org/x", "URL") == "site.org"
    assert read_domain("ada@bücher.de", "EMAIL") == "bücher.de"
    assert read_domain("ada@почта.рф", "EMAIL") == "почта.рф"


def test_no_domain_stays_where_something_else_was_found_right_after_it() -> None:
    text = "ada@site.org.Lovelace"
    both = Stretch(0, len(text), text, Span(0, 12, "EMAIL"))
    (put,) = Surrogate(keep="domain").replace([both], Randomness.secure())
    assert "lovelace" not in put.lower()


def test_the_format_that_shows_is_listed_for_every_kind_that_has_one() -> None:
    """Of e-mail addresses and of types without a kind, too: these are no numbers or codes."""
    kept = Surrogate(keep="format")
    put = kept.replace(
        [stretch("ada.lovelace@site.org", "EMAIL"), stretch("Blue Heron", "PROJECT")],
        Randomness.secure(),
    )
    assert put[0].partition("@")[0].index(".") == 3
    assert [len(word) for word in put[1].split()] == [4, 5]
    assert all(word in KEEP_LEAKS["format"] for word in ("everything but names", "before the @"))


def test_what_counts_as_equal_is_said() -> None:
    for consistent in ("document", "corpus"):
        mechanism = Surrogate(consistent=consistent)
        one, same = names(mechanism, "Wu", "WU's")
        assert one == same.removesuffix("'s")
        stated = mechanism.guarantee().neighbors
        assert all(word in stated for word in ("capitals", "separators", "possessive 's"))


def indistinguishable(texts: list[str]) -> bool:
    """Whether e-mail addresses come out the same from the same draws, domains being kept."""
    mechanism = Surrogate(keep="domain")
    put = [mechanism.replace([stretch(one, "EMAIL")], Randomness.reproducible(7)) for one in texts]
    return all(one == put[0] for one in put)


def test_addresses_without_a_domain_are_not_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["adalovelace", "tom.clark", "zoe@localhost", "ada@site.com张伟", "tom@10.20.30.41"]
    assert indistinguishable(texts)
    assert not indistinguishable(["ada@one.org", "ada@two.org"])
    # A reader that takes whatever stands last for a domain is found out.
    monkeypatch.setattr(form, "read_domain", lambda text, _: text.rpartition("@")[2].lower())
    assert not indistinguishable(texts)
