"""Every token drawn anew: the level of whole documents, what published code leaves as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import sfumato
from sfumato.accounting.bounded_range import exact_level
from sfumato.audits.verify import Effort, refute
from sfumato.core.arrays import Floats
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.identity import mechanism_identity
from sfumato.mechanisms.rewriting.by_tokens import VOCABULARY_GAP
from sfumato.mechanisms.rewriting.masked import Masked
from sfumato.mechanisms.rewriting.token_law import OnTokens
from sfumato.mechanisms.rows import log_normalized
from sfumato.models.filling import Filler, load_filler
from sfumato.releases.privatizer import Privatizer
from sfumato.testing import check_mechanism
from statistical.budget import level, lower_bounds, rejects, upper_bounds
from statistical.test_rewriting import p_values
from unit.models.folders import WORDS, bert, gpt2, masked_bert, with_our_tokenizer, with_word_pieces

TEXTS = [
    "",
    "the",
    "The film",
    "the film",
    "bad film was good",
    "badly",
    "zebra, good!",
    "a [MASK]",
]
STOP = "the"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    torch.manual_seed(4)
    model = masked_bert()
    # Fresh weights give all tokens nearly the same score.
    for parameter in model.parameters():
        parameter.data *= 6
    return str(with_word_pieces(model, tmp_path_factory.mktemp("models") / "bert"))


def made(folder: str, **settings: Any) -> Masked:
    given = {"window": 0.25, "temperature": 0.5, "tokens": 2} | settings
    return Masked(model=folder, **given)


def rows_of(mechanism: Masked, document: str) -> Floats:
    """Log-probabilities at every place."""
    return log_normalized(mechanism.law.logs(mechanism._scores(mechanism._read(document))))


def law_of(mechanism: Masked, document: str) -> Floats:
    """Log-probability of every sequence of outcomes."""
    rows = rows_of(mechanism, document)
    return np.array([sum(picked) for picked in product(*rows)])


def largest_loss(mechanism: Masked, documents: Sequence[str]) -> float:
    laws = np.stack([law_of(mechanism, one) for one in documents])
    return float((laws[:, None] - laws[None]).max())


def test_no_two_documents_are_told_apart_by_more_than_the_level(folder: str) -> None:
    for tokens, window in ((1, 4.0), (2, 0.25), (3, 2.0)):
        mechanism = made(folder, tokens=tokens, window=window)
        assert len(mechanism.law.tokens) == 8  # seven words, and nothing
        assert mechanism.guarantee().epsilon == pytest.approx(
            tokens * exact_level(window / 0.5, 8), rel=1e-12
        )
        assert largest_loss(mechanism, TEXTS) <= mechanism.guarantee().epsilon * (1 + 1e-12)
        # The twin: scores as the model gives them, a claim for the window.
        uncut = made(folder, tokens=tokens, window=window)
        uncut.__dict__["law"] = replace(mechanism.law, window=1e4)
        assert largest_loss(uncut, TEXTS) > mechanism.guarantee().epsilon


@dataclass(frozen=True, eq=False)
class Extreme(Filler):
    """Scores at a place by the sum of all *other* tokens: 0 for half of the tokens, or 50."""

    def score_places(self, tokens: Sequence[int], places: Sequence[int] | None = None) -> Floats:
        chosen = range(len(tokens)) if places is None else places
        others = [sum(tokens) - tokens[place] for place in chosen]
        each = np.arange(len(WORDS))
        return np.array([np.where((each + one) % 7 == 0, 50.0, 0.0) for one in others]).reshape(
            len(others), len(WORDS)
        )


def with_extreme(mechanism: Masked) -> Masked:
    one = mechanism.filler
    mechanism.__dict__["filler"] = Extreme(one.name, one.network, one.tokenizer, one.mask, 24)
    return mechanism


def test_one_word_moves_every_other_place(folder: str) -> None:
    mechanism = with_extreme(made(folder, tokens=3, window=2.0))
    one_word = largest_loss(mechanism, ["good film was", "bad film was"])
    each = mechanism.law.level
    # A claim for the place that changed alone (where nothing moves at all!) would be false.
    assert one_word > 1.3 * each
    first, second = (rows_of(mechanism, one) for one in ("good film was", "bad film was"))
    assert np.allclose(first[0], second[0])
    assert one_word <= mechanism.guarantee().epsilon


def test_verify_spares_the_law_and_refutes_a_support_from_the_text(folder: str) -> None:
    (honest,) = made(folder, window=6.0, temperature=3.0).points()
    assert isinstance(honest, OnTokens)
    effort = Effort(draws=200, pairs=4)
    sure = 1 - level("rewriting: whole documents", "masked, claim") / 4
    found = refute(honest, confidence=sure, effort=effort, randomness=Randomness.reproducible(3))
    assert not found.refuted
    # An empty document and one with words are as far apart as any two, but for the last digits.
    assert found.witness is not None
    assert found.witness.loss > 0.8 * honest.law.level
    wide = replace(honest.law, window=200.0)

    class Claims(OnTokens):
        def guarantee(self) -> Any:
            return honest.guarantee()

    uncut = Claims(law=wide, model=honest.model, names=honest.names, scores=honest.scores)
    assert refute(uncut, effort=effort, randomness=Randomness.reproducible(3)).refuted


class KeepsStopWords(Masked):
    """As published: stop words come back as they were."""

    def _written(self, document: str, randomness: Randomness) -> str:
        tokens = self._read(document)
        scores = self._scores(tokens)
        stop = WORDS.index(STOP)
        drawn = [int(self.law.draw(row, randomness)[0]) for row in scores]
        kept = [stop if old == stop else new for old, new in zip(tokens, drawn, strict=False)]
        return self.filler.tokenizer.decode(kept)


class CopiesCapitals(Masked):
    """As published: a word gets the capital of the one that stood there."""

    def _written(self, document: str, randomness: Randomness) -> str:
        new = super()._written(document, randomness)
        return new.capitalize() if document[:1].isupper() else new


class KeepsLength(Masked):
    """Draws for the tokens that are there alone."""

    def _scores(self, tokens: Sequence[int]) -> Floats:
        return self.filler.score_places(tokens)


def told_apart(mechanism: Masked, draws: int = 200) -> bool:
    """Whether an event is likelier for one document than the level of the mechanism allows."""
    events = (
        lambda text: not text.startswith(STOP),
        lambda text: text != text.lower(),
        lambda text: text == "",
    )
    alpha = level("rewriting: whole documents", "masked, claim") / 40
    texts = ("The film", "bad film", "")
    drawn = [mechanism.rewrite([one] * draws, Randomness.reproducible(8)) for one in texts]
    hits = np.array([[sum(map(event, one)) for event in events] for one in drawn])
    counts = np.full_like(hits, draws)
    low, high = lower_bounds(hits, counts, alpha), upper_bounds(hits, counts, alpha)
    allowed = np.exp(mechanism.guarantee().epsilon)
    return bool((low[:, None] > allowed * high[None]).any())


@pytest.mark.parametrize("kind", [Masked, KeepsStopWords, CopiesCapitals, KeepsLength])
def test_what_published_code_leaves_as_it_was_gives_it_away(folder: str, kind: Any) -> None:
    mechanism = kind(model=folder, window=0.2, temperature=0.5, tokens=2)
    assert told_apart(with_extreme(mechanism)) == (kind is not Masked)


def test_texts_come_as_the_law_says(folder: str) -> None:
    mechanism = with_extreme(made(folder, window=1.0))
    outcomes = list(product(mechanism.law.tokens.tolist(), repeat=2))
    decode = mechanism.filler.tokenizer.decode
    spelled = [decode([t for t in one if t != mechanism.nothing]) for one in outcomes]
    names = sorted(set(spelled))

    def chances(document: str) -> Floats:
        each = np.exp(law_of(mechanism, document))
        return np.bincount([names.index(one) for one in spelled], each).astype(np.float64)

    drawn = mechanism.rewrite(["good film"] * 800, Randomness.reproducible(5))
    numbers = np.array([names.index(one) for one in drawn])
    case = "rewriting: whole documents", "masked, law"
    assert not rejects(*case, p_values(numbers, chances("good film")))
    assert rejects(*case, p_values(numbers, chances("bad film")))


def test_the_law_of_a_text_is_summed_over_its_empty_places(folder: str) -> None:
    mechanism = made(folder, window=1.0, tokens=3)
    outcomes = list(product(mechanism.law.tokens.tolist(), repeat=3))
    law = law_of(mechanism, "good film")
    said = [[t for t in one if t != mechanism.nothing] for one in outcomes]
    for text in ("good film", "a", "", "the bad film"):
        tokens = mechanism._read(text)
        wanted = np.logaddexp.reduce([law[n] for n, one in enumerate(said) if one == tokens])
        (found,) = mechanism.log_chances("good film", [text])
        assert found == pytest.approx(wanted, rel=1e-9)
    # What cannot have been written is the least likely, and not impossible.
    assert np.isfinite(mechanism.log_chances("good film", ["zebra"])).all()


def test_nothing_of_a_document_is_written_but_by_a_draw(folder: str) -> None:
    mechanism = made(folder, tokens=4)
    special = set(mechanism.filler.tokenizer.backend.all_special_ids)
    assert special & set(mechanism.law.tokens.tolist()) == {mechanism.nothing}
    # Signs of a model in a document are text like any other.
    assert not {mechanism.nothing} & set(mechanism._read("the [MASK] [CLS]"))
    written = " ".join(mechanism.rewrite(TEXTS * 3, Randomness.reproducible(1)))
    assert {one for one in written.split() if "ly" not in one} <= set(WORDS[5:])
    # A stop word can become anything, and nothing.
    single = made(folder, tokens=1).rewrite([STOP] * 80, Randomness.reproducible(1))
    assert len(set(single)) == 8


def test_long_and_odd_documents_fail_no_run(folder: str) -> None:
    mechanism = made(folder, tokens=22)
    texts = ["the film " * 400, "", "\x00\u200d", "日本 12 🇩🇪", "." * 300]
    assert len(mechanism.rewrite(texts, Randomness.reproducible(1))) == len(texts)
    with pytest.raises(InvalidArgument, match="22 that this model can read"):
        made(folder, tokens=23).guarantee()


def test_only_public_tokens_are_written(folder: str, tmp_path: Path) -> None:
    public = tmp_path / "public.txt"
    public.write_text("good film\nbad film\n")
    mechanism = made(folder, vocabulary=str(public), tokens=5)
    allowed = {WORDS.index(one) for one in ("good", "film", "bad")}
    assert set(mechanism.law.tokens.tolist()) == {*allowed, mechanism.nothing}
    assert VOCABULARY_GAP in mechanism.guarantee().uncovered
    assert len(replace(mechanism, vocabulary_size=2).law.tokens) == 3


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_the_window_is_the_widest_for_the_level(folder: str, delta: float) -> None:
    mechanism = Masked(model=folder, epsilon=20.0, tokens=8, delta=delta)
    assert 20 * (1 - 1e-6) <= mechanism.guarantee().epsilon <= 20 * (1 + 1e-9)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"model": ""}, "masked language model is needed"),
        ({"epsilon": 3.0}, "not both"),
        ({"window": 40.0}, "below 1e-16"),
        ({"tokens": 0}, "tokens"),
        ({"delta": 1.0}, "delta"),
        ({"vocabulary_size": 10}, "vocabulary"),
    ],
    ids=str,
)
def test_what_breaks_the_claim_is_refused_with_the_reason(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        Masked(**{"model": "m", "window": 4.0, **wrong})


def test_a_model_that_is_none_is_refused(tmp_path: Path) -> None:
    torch.manual_seed(1)
    with pytest.raises(BadInput, match="lacks weights"):
        load_filler(with_word_pieces(bert(), tmp_path / "headless"))
    with pytest.raises(BadInput, match=r"cannot be loaded|no mask token"):
        load_filler(with_our_tokenizer(gpt2(), tmp_path / "causal"))
    hurt = masked_bert()
    for parameter in hurt.parameters():
        parameter.data *= np.nan
    with pytest.raises(BadInput, match="not finite"):
        made(str(with_word_pieces(hurt, tmp_path / "nan"))).guarantee()


def test_it_does_all_that_a_mechanism_must(folder: str) -> None:
    settings = {"model": folder, "window": 3.0, "tokens": 3}
    check_mechanism("masked", settings=settings)
    assert mechanism_identity(made(folder)) != mechanism_identity(made(folder, tokens=3))
    privatizer = Privatizer(policy="everything", mechanism="masked", settings=settings)
    assert len(privatizer.privatize(TEXTS)) == len(TEXTS)
    guarantee = privatizer.guarantee()
    assert "any two documents" in guarantee.sentence()
    assert privatizer.public_settings()["mechanism_settings"]["model"] == "bert"
    assert privatizer.public_settings()["mechanism_settings"]["output_tokens"] == 8


def test_commands_take_it(folder: str, tmp_path: Path) -> None:
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    texts = [f"{a} {b} {c}" for a, b, c in product(("good", "bad"), ("film", "a"), ("was", "the"))]
    source.write_text("\n".join(texts) + "\n")
    settings = {"model": folder, "window": 12.0, "tokens": 3}
    release = sfumato.privatize(source, output, mechanism="masked", settings=settings)
    assert "any two documents" in release.guarantee.sentence()
    found = sfumato.attack("reidentification", output, originals=source, settings={"model": folder})
    assert "re-identified by law" in {one.metric for one in found.figures}
    compared = sfumato.compare("masked", epsilon=[3, 30], corpus=source,
                               settings={"model": folder, "tokens": 3}, seed=1)  # fmt: skip
    assert [round(one.guarantee.epsilon, 6) for one in compared.rows] == [3.0, 30.0]
    assert not sfumato.verify("masked", epsilon=6, settings={"model": folder, "tokens": 3},
                              draws=100, pairs=4, seed=1).refuted  # fmt: skip
