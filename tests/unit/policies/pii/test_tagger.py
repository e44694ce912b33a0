"""The tagger: its arithmetic, its recall on tickets of our own, and texts nobody would write."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core.errors import UnknownName
from sfumato.corpora.labeled import Labeled, read_labeled
from sfumato.policies.identity import policy_code
from sfumato.policies.pii import Pii, forms, network, scorer
from sfumato.policies.pii.detector import RECALLS
from sfumato.policies.pii.features import FULL, Look
from sfumato.policies.pii.forms import is_public
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.network import (
    FAR,
    KINDS,
    LAYERS,
    NEAR,
    PART,
    Layer,
    Network,
    load_network,
)
from sfumato.policies.pii.scorer import Scorer, kept_for, score_all
from sfumato.policies.pii.surroundings import Surroundings
from sfumato.policies.pii.tagger import names_of, spans_of, tag, with_firms
from sfumato.policies.pii.tokens import Tokens
from sfumato.policies.policy import Batched
from sfumato.policies.scoring import compare_with_gold
from sfumato.text.document import Document
from sfumato.text.span import Spans
from sfumato.text.words import Words

TICKETS = Path(__file__).parents[3] / "data" / "tickets.jsonl"
FLOOR = 0.85
TEXTS = [
    "hi, its tamika again. still no reply from Northgate Credit Union",
    "Sehr geehrte Frau Öztürk-Hagemann, Herr Pfannenstiel wohnt nicht mehr in Wuppertal.",
    "",
    "Call Yusuf or Bernadette after six.",
    "  Yusuf",
    "LLAMAR A GRACIELA BUSTAMANTE, ES DE ROSARIO 👍🏽",
]
STRANGE = [
    *(
        "",
        " ",
        "\n\n\n",
        "\x00",
        ".",
        "'",
        "'s",
        "👩‍👧‍👦" * 50,
        "愛してる東京の田中さん",
        "مرحبا يا أحمد من القاهرة",
    ),
    *("a" * 100_000, "A" * 50_000, "é" * 50_000, "e\u0301" * 30_000, "." * 100_000, "@" * 10_000),
    *("\u200b".join("Ann Hale"), "ǅenan ǈubiša", "İSTANBUL ıspanak", "ﬁnn", "𝕬𝖓𝖓 𝕳𝖆𝖑𝖊", "Z̸̧͚a̵l̴g̶o̷"),
    *(
        "Ann\tHale\r\nBob\vEve\fMia\x85Kim\u2028Tom",
        "-" * 5000 + "Ann" + "-" * 5000,
        "\ufffd\uffff",
    ),
]


def tickets() -> list[Labeled]:
    return list(read_labeled(TICKETS))


class Alone:
    """The tagger with some weights and no rules."""

    name = "tagger alone"

    def __init__(self, weights: Network) -> None:
        self.weights = weights

    def find(self, document: Document) -> Spans:
        tokens = Tokens.of([document.text])
        thresholds = self.weights.thresholds[RECALLS.index("balanced")]
        return Spans.of(spans_of(tokens, score_all(self.weights, tokens), thresholds)[0])


def shuffled(weights: Network) -> Network:
    """A sabotaged twin: the same numbers, each in a wrong place."""
    draw = np.random.default_rng(0)

    layers = {name: getattr(weights, name) for name in LAYERS}
    wrong = {
        name: replace(layer, weights=draw.permuted(layer.weights, axis=0))
        for name, layer in layers.items()
    }
    return replace(weights, **wrong)


def test_names_in_tickets_of_four_languages_are_found() -> None:
    report = compare_with_gold(Pii(), tickets())
    assert {row.label for row in report.recall} == set(KINDS)
    assert (report.overall_recall.share or 0) >= FLOOR
    for language in ("en", "de", "es", "fr"):
        own = [one for one in tickets() if str(one.document.id).startswith(language)]
        assert (compare_with_gold(Pii(), own).overall_recall.share or 0) >= FLOOR - 0.05
    named = {row.label: row.share or 0 for row in report.precision if row.label in KINDS}
    assert min(named.values()) >= 0.6


def is_good(weights: Network) -> bool:
    """Most names are found, and little else: selecting everything would find them, too."""
    report = compare_with_gold(Alone(weights), tickets())
    found, right = report.overall_recall.share or 0, report.overall_precision.share or 0
    return found >= FLOOR and right >= 0.7


def test_the_tagger_finds_most_of_them_without_rules() -> None:
    assert is_good(load_network())


def test_twin_with_shuffled_weights_is_caught() -> None:
    assert not is_good(shuffled(load_network()))


def naive(weights: Network, text: str) -> list[list[float]]:
    """The network by its definition: one token and one output at a time, in whole numbers."""
    tokens = Tokens.of([text])
    places = np.flatnonzero(tokens.ids)
    around = Surroundings(tokens).at(places)
    seen: list[list[int]] = []
    for form in tokens.ids[places]:
        look = Look.at([tokens.forms[form]], tokens.shapes[[form]], weights.rare)
        sums = sum(weights.grams[row].astype(int) for letter in look.letters for row in letter)
        letters = np.clip(np.rint(np.asarray(sums) / 4), -FULL, FULL)
        row = [int(one) for one in (*look.vectors[0], *look.flags[0], *letters)]
        seen.append(active(weights.second, active(weights.first, row)))
    scores = []
    for place, center in enumerate(seen):
        nothing = [0] * len(center)
        words = {
            offset: seen[place + offset] if 0 <= place + offset < len(seen) else nothing
            for offset in (*NEAR, *FAR)
        }
        wide = [one for offset in NEAR for one in words[offset]]
        wide += [one for offset in FAR for one in words[offset][:PART]]
        inner = active(weights.window, [*wide, *map(int, around[place])])
        outer = active(weights.middle, inner)
        total = sums_of(weights.last, [*center, *inner, *outer])
        score = np.array(total, np.float32) * weights.last.scale + weights.last.bias
        shift = weights.shifts[tokens.shape[places[place]]]
        scores.append([float(one) for one in score[1:] - score[0] + shift])
    return scores


def sums_of(layer: Layer, row: list[int]) -> list[int]:
    columns = layer.weights.astype(int).T.tolist()
    return [sum(one * two for one, two in zip(row, column, strict=True)) for column in columns]


def active(layer: Layer, row: list[int]) -> list[int]:
    scaled = np.array(sums_of(layer, row), np.float32) * layer.scale + layer.bias
    return [int(one) for one in np.clip(np.rint(scaled), 0, FULL)]


def all_scores(text: str) -> np.ndarray:
    tokens = Tokens.of([text])
    scores: np.ndarray = score_all(load_network(), tokens)[tokens.ids != 0]
    return scores


@pytest.mark.parametrize("text", ["Call Yusuf or Zoë after six.", "hi"])
def test_scores_are_those_of_the_definition(text: str) -> None:
    expected = np.array(naive(load_network(), text), np.float32)
    np.testing.assert_array_equal(all_scores(text), expected)


def test_twin_that_sees_the_neighbors_on_the_wrong_side_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "Call Yusuf or Zoë after six."
    expected = np.array(naive(load_network(), text), np.float32)
    monkeypatch.setattr(scorer, "FAR", FAR[::-1])
    assert not np.array_equal(all_scores(text), expected)


def test_twin_that_takes_the_shifts_of_other_shapes_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text, weights = "Call Yusuf or Zoë after six.", load_network()
    drawn = np.random.default_rng(0).integers(-9, 9, weights.shifts.shape).astype(np.float32)
    right = replace(weights, shifts=drawn)
    expected = np.array(naive(right, text), np.float32)
    monkeypatch.setattr(sys.modules[__name__], "load_network", lambda: right)
    np.testing.assert_array_equal(all_scores(text), expected)
    wrong = replace(weights, shifts=np.roll(drawn, 1, axis=0))
    monkeypatch.setattr(sys.modules[__name__], "load_network", lambda: wrong)
    assert not np.array_equal(all_scores(text), expected)


def test_shifts_are_small_and_count_from_words_with_a_capital() -> None:
    shifts = load_network().shifts
    assert shifts.shape == (len(forms.SHAPES), len(KINDS))
    assert not shifts[forms.SHAPES.index("title")].any()
    assert not shifts[[forms.SHAPES.index(name) for name in ("empty", "stop", "at")]].any()
    assert (shifts == np.rint(shifts * 4) / 4).all()
    assert np.abs(shifts).max() < 4


def test_no_sum_is_so_large_that_it_would_be_rounded() -> None:
    weights = load_network()
    for layer in (getattr(weights, name) for name in LAYERS):
        assert (layer.weights == np.rint(layer.weights)).all()
        assert np.abs(layer.weights).sum(axis=0).max() * FULL < 2**24


@given(st.lists(st.one_of(st.text(max_size=60), st.sampled_from(TEXTS)), max_size=6))
def test_what_is_found_does_not_depend_on_the_other_texts(texts: list[str]) -> None:
    assert tag(texts, "high") == [tag([text], "high")[0] for text in texts]


@settings(max_examples=20)
@given(st.integers(1, 40), st.sets(st.integers(0, 60), min_size=1))
def test_scores_do_not_depend_on_what_else_is_scored(size: int, chosen: set[int]) -> None:
    tokens = Tokens.of(TEXTS * 3)
    expected = score_all(load_network(), tokens)
    places = np.flatnonzero(tokens.ids)[sorted(chosen)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scorer, "_BLOCK", size)
        patch.setattr(scorer, "_LOOK", size)
        np.testing.assert_array_equal(
            Scorer(load_network(), tokens).score(places), expected[places]
        )


@pytest.mark.parametrize("text", STRANGE, ids=range(len(STRANGE)))
def test_strange_texts_are_read(text: str) -> None:
    for span in Pii(recall="high").find(Document(text)):
        assert 0 <= span.start < span.end <= len(text)


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
def test_any_text_is_tagged_within_its_bounds(text: str) -> None:
    for span in tag([text], "high")[0]:
        assert 0 <= span.start < span.end <= len(text)
        assert span.rule.endswith(("-tagged", "-handle"))


@pytest.mark.parametrize("text", TEXTS)
def test_more_recall_selects_no_fewer_words(text: str) -> None:
    words = Words.of(text)
    low, balanced, high = (
        set(Pii(recall=recall).find(Document(text)).select(words)) for recall in RECALLS
    )
    assert low <= balanced <= high


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ann Hale met Bob in Paris.", {"Ann Hale", "Bob", "Paris"}),
        ("my friend sarah and her brother tom", {"sarah", "tom"}),
        ("He works at Bank of America.", {"Bank of America"}),
        ("ask anneke van der meer", {"anneke van der meer"}),
    ],
)
def test_ordinary_words_are_no_end_of_a_name(text: str, names: set[str]) -> None:
    assert {text[span.start : span.end] for span in Pii().find(Document(text))} == names


@pytest.mark.parametrize("recall", RECALLS)
def test_handles_are_people_unless_recall_is_low(recall: str) -> None:
    text = "thx @dee_marchetti, mail a@dee.example or @ 5 @ home, says @ xmarchettix"
    found = [span for span in tag([text], recall)[0] if span.rule == "person-handle"]
    handles = [text[span.start : span.end] for span in found]
    assert handles == ([] if recall == "low" else ["@dee_marchetti", "@ xmarchettix"])


def test_documents_read_together_give_what_each_gives_alone() -> None:
    policy = Pii()
    assert isinstance(policy, Batched)
    documents = [Document(text) for text in TEXTS]
    assert policy.find_many(documents) == [policy.find(document) for document in documents]


def test_the_setting_is_checked_and_belongs_to_name_and_identity() -> None:
    with pytest.raises(UnknownName, match="did you mean 'high'"):
        Pii(recall="hihg")
    assert Pii(recall="high").name == "pii(recall high)"
    assert len({policy_code(Pii(recall=recall)) for recall in RECALLS}) == len(RECALLS)
    numbers = [Pii(types=("email", "phone"), recall=recall) for recall in RECALLS]
    assert len({policy_code(policy) for policy in numbers}) == 1


def test_other_weights_are_another_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    before = policy_code(Pii()), policy_code(Pii(types=("email",)))
    monkeypatch.setattr(network, "weights_version", lambda: "others")
    assert policy_code(Pii()) != before[0]
    assert policy_code(Pii(types=("email",))) == before[1]


def test_only_what_is_asked_for_is_run() -> None:
    script = (
        "import sys; from sfumato.policies.pii import Pii; from sfumato.text.document import "
        "Document; Pii(types=('email', 'code')).find(Document('a@b.org')); "
        "assert 'sfumato.policies.pii.network' not in sys.modules; "
        "Pii(types=('org',)).find(Document('a')); "
        "assert 'sfumato.policies.pii.network' in sys.modules; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("kind", ["person", "location", "org"])
def test_each_kind_can_be_asked_for_alone(kind: str) -> None:
    text = "Forwarding for Anneliese Brandvold, who works for Siemens in Rotterdam."
    found = Pii(types=(kind,)).find(Document(text))
    assert {span.label for span in found} == {kind.upper()}


def whole(texts: list[str], recall: str) -> list[list[Found]]:
    """What is found when every single token is scored."""
    tokens, weights = Tokens.of(texts), load_network()
    thresholds = weights.thresholds[RECALLS.index(recall)]
    leads = Scorer(weights, tokens).leads
    found = names_of(tokens, score_all(weights, tokens), thresholds, leads)
    return [with_firms(text, spans) for text, spans in zip(texts, found, strict=True)]


@pytest.mark.parametrize("recall", RECALLS)
def test_tokens_that_are_not_scored_are_in_no_name(recall: str) -> None:
    texts = [*TEXTS, *(str(one.document.text) for one in tickets())]
    expected = whole(texts, recall)
    found = [
        [span for span in spans if span.rule != "person-handle"] for spans in tag(texts, recall)
    ]
    assert found == expected


@given(
    st.lists(
        st.sampled_from(
            [
                "Ann",
                "de",
                "la",
                "of",
                "van",
                "the",
                "Bank",
                "and",
                ".",
                ",",
                "-",
                "i",
                "e",
                "D.",
                "bob",
                "paris",
                "'s",
            ]
        )
    )
)
def test_any_order_of_words_gives_the_same_with_fewer_scores(words: list[str]) -> None:
    text = " ".join(words)
    assert tag([text], "balanced") == whole([text], "balanced")


def test_most_ordinary_words_are_not_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    real = Scorer.score

    def counted(self: Scorer, places: np.ndarray) -> np.ndarray:
        asked.append(len(places))
        return real(self, places)

    monkeypatch.setattr(Scorer, "score", counted)
    text = "the order has not been there for two weeks and nobody could tell me why " * 20
    tag([text + "Ann"], "balanced")
    assert sum(asked) < len(text.split()) / 4


def test_twin_that_scores_too_few_tokens_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [str(one.document.text) for one in tickets()]
    expected, real = whole(texts, "balanced"), Scorer.score

    def halved(self: Scorer, places: np.ndarray) -> np.ndarray:
        scores = real(self, places)
        scores[places % 2 == 1] = -np.inf
        return scores

    monkeypatch.setattr(Scorer, "score", halved)
    assert tag(texts, "balanced") != expected


def test_what_is_seen_of_a_form_may_be_kept_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = tag(TEXTS, "balanced")
    monkeypatch.setattr(scorer, "_KEPT", {})
    monkeypatch.setattr(scorer, "_MOST_KEPT", 3)
    assert tag(TEXTS, "balanced") == expected
    assert len(kept_for(load_network()).rows) == 3


PRIVATE = "hunterxq2 Öztürk-Hagemann Bernadettexa 4929771 TaMiKa"


def kept_words() -> set[str]:
    tag([PRIVATE + " Leeds LEEDS leeds, Bernadette."], "high")
    return {*kept_for(load_network()).rows, *forms._KEPT}


def test_only_public_words_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scorer, "_KEPT", {})
    monkeypatch.setattr(forms, "_KEPT", {})
    assert kept_words() == {"Leeds", "LEEDS", "leeds", "Bernadette", ",", ".", "-", "0"}


def test_twin_that_keeps_every_word_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scorer, "_KEPT", {})
    monkeypatch.setattr(scorer, "is_public", bool)
    assert "hunterxq" in kept_words()
    monkeypatch.setattr(scorer, "_KEPT", {})  # so that nothing of this stays


def test_a_public_word_is_one_of_the_vocabulary_in_a_usual_form() -> None:
    assert all(map(is_public, ("leeds", "Leeds", "LEEDS", ",")))
    assert not any(map(is_public, ("lEeds", "Marchettixa", "4929771", "")))
