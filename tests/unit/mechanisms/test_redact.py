"""Redaction: one mask per stretch, by its type and nothing else."""

from __future__ import annotations

from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion
from sfumato.mechanisms.mechanism import Keyed, Mechanism, StretchMechanism
from sfumato.mechanisms.redact import TYPE_LEAK, Redact
from sfumato.mechanisms.selective import Selective
from sfumato.policies.parsing import combine_policies
from sfumato.text.document import Document
from sfumato.text.span import Span, Stretch


def redacted(text: str, *policies: str) -> str:
    selective = Selective(policy=combine_policies(policies), mechanism=Redact())
    return selective.privatize([Document(text)], Randomness.secure())[0].text


def test_it_replaces_stretches_and_has_no_key() -> None:
    assert isinstance(Redact(), StretchMechanism)
    assert not isinstance(Redact(), Mechanism)
    assert not isinstance(Redact(), Keyed)


def test_a_name_of_several_words_is_one_mask() -> None:
    text = "Ask Ada Lovelace's mother, or mail ada@example.org!"
    assert redacted(text, "pii") == "Ask [PERSON] mother, or mail [EMAIL]!"


def test_overlapping_spans_are_one_mask() -> None:
    assert redacted("call 555-0142 now", "pii", "digits") == "call [PHONE] now"
    assert redacted("call 555-0142 now", "digits") == "call [NUMBER]-[NUMBER] now"


def test_a_document_is_one_mask_when_everything_is_selected() -> None:
    assert redacted("Ask Ada,\nplease 🙂", "everything") == "[ANY]"
    assert redacted("", "everything") == ""


def test_what_holds_no_word_is_masked_too() -> None:
    assert redacted("well 🙂 then", "regex:🙂") == "well [MATCH] then"


def test_a_mask_tells_nothing_but_the_type() -> None:
    """Whatever stands there, as long as it has the type: the same mask."""
    texts = ["Ada", "Ada Lovelace", "A. B.-C.\n D'", "", "  ", "x" * 1000]
    stretches = [Stretch(0, len(text), text, Span(0, len(text), "PERSON")) for text in texts]
    assert set(Redact().replace(stretches, Randomness.secure())) == {"[PERSON]"}


def test_twin_that_keeps_the_length_would_show() -> None:
    stretches = [Stretch(0, n, "x" * n, Span(0, n, "PERSON")) for n in (3, 12)]
    twin = ["[PERSON]" + "*" * len(one.text) for one in stretches]
    assert len(set(twin)) > len(set(Redact().replace(stretches, Randomness.secure()))) == 1


def test_a_mask_does_not_depend_on_the_original_and_says_so() -> None:
    guarantee = Redact().guarantee()
    assert guarantee.notion is Notion.INDEPENDENT
    assert guarantee.for_release
    assert guarantee.leaks == (TYPE_LEAK,)
