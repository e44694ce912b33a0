"""What a user types becomes a policy; what is wrong is told without repeating private parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato import catalog
from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.policies.combine import Minus, Union
from sfumato.policies.imperfect import Imperfect
from sfumato.policies.lexicon import Lexicon
from sfumato.policies.parsing import combine_policies, level_policies, parse_policy
from sfumato.policies.patterns import Digits, Regex
from sfumato.policies.pii import Pii
from sfumato.text.document import Document

TARGETS = {
    "digits": "sfumato.policies.patterns:Digits",
    "imperfect": "sfumato.policies.imperfect:Imperfect",
    "lexicon": "sfumato.policies.lexicon:Lexicon",
    "pii": "sfumato.policies.pii.detector:Pii",
    "regex": "sfumato.policies.patterns:Regex",
}


@pytest.fixture(autouse=True)
def _small_catalog(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {name: catalog.Entry("policies", name, target, "") for name, target in TARGETS.items()}
    monkeypatch.setattr(catalog, "entries", {"policies": known}.__getitem__)


def test_names_alone_give_the_policy_with_its_defaults() -> None:
    assert parse_policy("digits") == Digits()
    assert parse_policy("pii") == Pii()


def test_the_part_after_the_colon_is_the_argument() -> None:
    assert parse_policy("pii:email, phone") == Pii(types=("email", "phone"))
    assert parse_policy("regex:a:b") == Regex("a:b")


def test_a_lexicon_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text("Ada\n")
    assert parse_policy(f"lexicon:{path}") == Lexicon(("Ada",))
    settings = {"lexicon.case_sensitive": "yes"}
    assert parse_policy(f"lexicon:{path}", settings) == Lexicon(("Ada",), case_sensitive=True)


def test_settings_are_read_as_what_they_are() -> None:
    assert parse_policy("pii", {"pii.regions": "DE,FR"}) == Pii(regions=("DE", "FR"))
    assert parse_policy("pii", {"pii.regions": ["DE"]}) == Pii(regions=("DE",))
    assert parse_policy("regex:a", {"regex.label": "LETTER"}) == Regex("a", "LETTER")


def test_imperfect_wraps_another_policy() -> None:
    settings = {"imperfect.misses": "0.2", "imperfect.seed": "3", "pii.regions": "DE"}
    expected = Imperfect(policy=Pii(regions=("DE",)), misses=0.2, seed=3)
    assert parse_policy("imperfect:pii", settings) == expected


def test_several_policies_are_united_and_others_subtracted() -> None:
    assert combine_policies(["digits"]) == Digits()
    assert combine_policies(["digits", "pii"]) == Union((Digits(), Pii()))
    assert combine_policies(["pii"], ["digits"]) == Minus(Pii(), Digits())
    combined = combine_policies(["pii", "digits"], ["regex:a"], {"pii.regions": "DE"})
    assert combined == Minus(Union((Pii(regions=("DE",)), Digits())), Regex("a"))
    assert combined.name == "(pii(regions DE) + digits) − regex"


@pytest.mark.parametrize(
    ("spec", "settings", "message"),
    [
        ("digit", {}, "did you mean 'digits'"),
        ("pii", {"pii.region": "DE"}, "did you mean 'regions'"),
        ("pii", {"pi.regions": "DE"}, "did you mean 'pii'"),
        ("pii:emial", {}, "did you mean 'email'"),
        ("pii", {"pii.regions": "XQ"}, "unknown value for regions"),
    ],
)
def test_a_mistyped_name_gets_a_suggestion(
    spec: str, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(UnknownName, match=message):
        parse_policy(spec, settings)


@pytest.mark.parametrize(
    ("spec", "settings", "message"),
    [
        ("digits:5", {}, "takes nothing after a colon"),
        ("regex", {}, "needs pattern: write regex:PATTERN"),
        ("regex:", {}, "needs something after the colon"),
        ("lexicon", {}, "needs path"),
        ("imperfect:pii", {"imperfect.misses": "0.1"}, "needs seed: set imperfect.seed"),
        ("imperfect:pii", {"imperfect.misses": "x", "imperfect.seed": 1}, "must be a number"),
        ("pii:email", {"pii.types": "phone"}, "given twice"),
        ("pii", {"regions": "DE"}, "POLICY.KEY"),
    ],
)
def test_what_cannot_be_built_is_refused_with_a_way_out(
    spec: str, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        parse_policy(spec, settings)


@pytest.mark.parametrize("spec", ["regex:(secret", "(secret|b)+", "secret words", "digits:secret"])
def test_no_message_repeats_a_pattern(spec: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse_policy(spec)
    assert "secret" not in str(caught.value)


def test_no_policy_at_all_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="at least one"):
        combine_policies([])


def test_what_was_parsed_finds() -> None:
    policy = combine_policies(["pii:phone", "regex:x+"], ["digits"])
    assert [span.label for span in policy.find(Document("xx 5"))] == ["MATCH"]


def test_levels_share_settings_and_exceptions() -> None:
    levels = level_policies(
        [(2.0, "pii:phone"), (8.0, "digits")], ["regex:7"], {"pii.regions": "DE"}
    )
    assert [epsilon for epsilon, _ in levels] == [2.0, 8.0]
    assert [policy.name for _, policy in levels] == [
        "pii(phone; regions DE) − regex",
        "digits − regex",
    ]
    assert [len(policy.find(Document("7 and 8"))) for _, policy in levels] == [0, 1]
    with pytest.raises(UnknownName, match="policy in a setting"):
        level_policies([(2.0, "digits")], (), {"pii.regions": "DE"})
    with pytest.raises(InvalidArgument, match="at least one level"):
        level_policies([])
