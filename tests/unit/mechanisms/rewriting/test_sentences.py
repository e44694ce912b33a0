"""Sentences from a public pool: the level against the worst inputs, what shows, what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import RobertaConfig, RobertaModel

from sfumato.accounting.bounded_range import exact_level
from sfumato.audits.verify import Effort, refute
from sfumato.core.arrays import Floats
from sfumato.core.errors import BadInput, InvalidArgument, StorageFailed
from sfumato.core.progress import Advance
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion
from sfumato.mechanisms.identity import mechanism_identity
from sfumato.mechanisms.rewriting import pool as pools
from sfumato.mechanisms.rewriting.law import OnPool, SentenceLaw
from sfumato.mechanisms.rewriting.pool import Pool, in_singles, load_pool
from sfumato.mechanisms.rewriting.sentences import COUNT_LEAK, Sentences
from sfumato.models.encoder import load_encoder
from sfumato.releases.explanation import explain_text
from sfumato.releases.privatizer import Privatizer
from sfumato.testing import check_mechanism
from sfumato.vectors.means import unit_rows
from sfumato.verbs.privatize import privatize
from statistical import budget
from unit.models.folders import masked_bert, with_our_tokenizer, with_word_pieces

SENTENCES = (
    "The red wine is good.",
    "A white house stands there.",
    "Red grapes grow slowly.",
    "He runs home.",
    "They sing a song!",
    "Nobody knows the doctor.",
    "Cold water helps.",
)
SECRET = "Zanzibar Quixote owes nine thousand."


@pytest.fixture
def pool(tmp_path: Path) -> str:
    path = tmp_path / "pool.txt"
    path.write_text("\n".join([*SENTENCES, SENTENCES[0], "…", ""]))
    return str(path)


def pool_of(vectors: Floats) -> Pool:
    names = tuple(f"sentence {number}" for number in range(len(vectors)))
    return Pool("made up", names, in_singles(vectors), np.zeros(vectors.shape[1]))


def largest_loss(law: SentenceLaw, inputs: Floats) -> float:
    rows = law.log_rows(inputs)
    return float((rows[:, None] - rows[None]).max())


@pytest.mark.parametrize(("beta", "low", "high"), [(5.0, 0.1, 0.7), (20.0, -0.2, 0.9)])
def test_the_worst_pair_of_inputs_reaches_the_level_and_none_exceeds_it(
    beta: float, low: float, high: float
) -> None:
    # One sentence on one side and all others on the other: the corner that the proof names.
    opposite = np.array([[1.0, 0.0], *[[-1.0, 0.0]] * 4])
    law = SentenceLaw(pool=pool_of(opposite), beta=beta, low=low, high=high)
    inputs = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])
    assert law.level == exact_level(beta * (high - low), 5)
    assert largest_loss(law, inputs) == pytest.approx(law.level, rel=1e-9)


def climb(loss: Callable[[Floats], float], size: int, generator: np.random.Generator) -> float:
    """The largest loss found by changing unit vectors as long as that helps."""
    best = 0.0
    for _ in range(6):
        pair = generator.normal(size=(2, size))
        pair /= np.linalg.norm(pair, axis=1, keepdims=True)
        reached = loss(pair)
        for step in np.geomspace(1.0, 0.01, 60):
            other = pair + step * generator.normal(size=pair.shape)
            other /= np.linalg.norm(other, axis=1, keepdims=True)
            if (found := loss(other)) > reached:
                pair, reached = other, found
        best = max(best, reached)
    return best


def test_a_search_for_the_worst_vectors_stays_within_both_levels() -> None:
    generator = np.random.default_rng(3)
    vectors = generator.normal(size=(12, 4))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    law = SentenceLaw(pool=pool_of(vectors), beta=12.0, low=0.1, high=0.7)

    def share_of_distance(pair: Floats) -> float:
        return largest_loss(law, pair) / float(np.linalg.norm(pair[0] - pair[1]))

    assert climb(lambda pair: largest_loss(law, pair), 4, generator) <= law.level
    assert climb(share_of_distance, 4, generator) <= 2 * law.beta * (1 + 1e-12)
    # The twin: without the cut, what is claimed for the window is exceeded.
    uncut = replace(law, low=-1.0, high=1.0)
    assert climb(lambda pair: largest_loss(uncut, pair), 4, generator) > law.level
    # The twin: β per unit of distance, as if the sum over the pool did not change.
    assert climb(share_of_distance, 4, generator) > law.beta


class Uncut(SentenceLaw):
    """Claims the level of its window, and does not cut."""

    def scores(self, vector: Floats) -> Floats:
        return np.asarray(self.beta * (self.pool.vectors.astype(float) @ vector))


def test_verify_spares_the_law_and_refutes_its_twins() -> None:
    generator = np.random.default_rng(1)
    vectors = generator.normal(size=(6, 2))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    settings = {"pool": pool_of(vectors), "beta": 2.0, "low": 0.1, "high": 0.7}
    effort, noise = Effort(draws=2000), Randomness.reproducible(2)
    sure = 1 - budget.level("rewriting: true claims", "sentences") / 2
    honest = SentenceLaw(**settings)  # type: ignore[arg-type]
    for metric in (False, True):
        on_pool = OnPool(law=honest, metric=metric)
        source = noise.stream(int(metric))
        assert not refute(on_pool, confidence=sure, effort=effort, randomness=source).refuted
    broken = OnPool(law=Uncut(**settings))  # type: ignore[arg-type]
    assert refute(broken, effort=effort, randomness=noise.stream(2)).refuted


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 6.0, 30.0])
@pytest.mark.parametrize(
    "more", [{}, {"most": 3}, {"most": 3, "fill": True, "delta": 1e-6}, {"metric": True}]
)
def test_the_weight_is_the_largest_for_the_level(
    pool: str, epsilon: float, more: dict[str, object]
) -> None:
    made = Sentences(pool=pool, epsilon=epsilon, **more)  # type: ignore[arg-type]
    stated = made.guarantee().epsilon
    assert epsilon * (1 - 1e-6) <= stated <= epsilon * (1 + 1e-9)


def test_a_guarantee_names_its_unit_and_what_shows(pool: str) -> None:
    each = Sentences(pool=pool, beta=10.0).guarantee()
    assert (each.unit, each.notion) == ("sentence", Notion.PURE_DP)
    assert COUNT_LEAK in each.leaks
    whole = Sentences(pool=pool, beta=10.0, most=4).guarantee()
    assert (whole.unit, whole.leaks) == ("document", (COUNT_LEAK,))
    assert whole.epsilon == pytest.approx(4 * each.epsilon)
    assert "equally many sentences" in whole.neighbors
    filled = Sentences(pool=pool, beta=10.0, most=4, fill=True).guarantee()
    assert (filled.neighbors, filled.leaks) == ("any two documents", ())
    least = Sentences(pool=pool, beta=0.5, most=40, fill=True, delta=1e-5).guarantee()
    assert least.notion is Notion.APPROXIMATE_DP
    assert least.epsilon < 40 * Sentences(pool=pool, beta=0.5).guarantee().epsilon
    near = Sentences(pool=pool, beta=10.0, metric=True).guarantee()
    assert (near.notion, near.epsilon) == (Notion.METRIC_DP, 20.0)
    for more in ({}, {"most": 2, "fill": True}):
        none = Sentences(pool=pool, beta=0.0, **more).guarantee()  # type: ignore[arg-type]
        assert (none.notion, none.epsilon) == (Notion.INDEPENDENT, 0.0)
    for one in (each, whole, filled, least, near):
        assert one.sentence().endswith(".")
        assert one.summary()[2].startswith("Next: read some of it beside the originals")


def test_documents_of_any_kind_are_rewritten(pool: str) -> None:
    made = Sentences(pool=pool, beta=10.0)
    texts = ["", " \n ", "😀", "One. Two. Three.", SECRET]
    new = made.rewrite(texts, Randomness.secure())
    assert new[:3] == ["", "", ""]
    assert sum(new[3].count(one) for one in SENTENCES) == 3
    assert new[4] in SENTENCES
    capped = Sentences(pool=pool, beta=10.0, most=2)
    cut = capped.rewrite(texts, Randomness.secure())[3]
    assert sum(cut.count(one) for one in SENTENCES) == 2
    filled = Sentences(pool=pool, beta=10.0, most=2, fill=True)
    for text in filled.rewrite(texts, Randomness.secure()):
        assert sum(text.count(one) for one in SENTENCES) == 2


def test_a_pool_is_cut_like_a_text_and_holds_each_sentence_once(pool: str, tmp_path: Path) -> None:
    assert load_pool(pool).sentences == SENTENCES
    table = tmp_path / "pool.csv"
    table.write_text("said,id\nOne. Two.,1\nTwo.,2\n")
    assert load_pool(str(table), column="said").sentences == ("One.", "Two.")
    table.write_text("said,id\nOne.,1\n")
    with pytest.raises(BadInput, match="1 sentences"):
        load_pool(str(table), column="said")
    with pytest.raises(StorageFailed, match="no file"):
        load_pool(str(tmp_path / "nowhere.txt"))


def test_no_sentence_influences_another(pool: str, tmp_path: Path) -> None:
    folder = with_word_pieces(masked_bert(), tmp_path / "encoder")
    texts = ["the film was good", "a", "", "the the the bad film was badly good", "unheard of"]
    for encoder in ("", str(folder)):
        loaded = load_pool(pool, encoder=encoder)
        alone = [loaded.vectors_of([one])[0] for one in texts]
        assert np.array_equal(loaded.vectors_of(texts), np.stack(alone))
        lengths = np.linalg.norm(loaded.vectors, axis=1)
        assert np.allclose(lengths[lengths > 0], 1.0, atol=1e-6)
        assert np.linalg.norm(loaded.vectors.astype(float), axis=1).max() <= 1.0
        for vector in alone:
            assert np.linalg.norm(vector) <= 1 + 1e-12
    assert not load_pool(pool).vectors_of(["", "qqqqzzzz"]).any()


def test_vectors_of_a_pool_are_kept_where_that_is_asked_for(pool: str, tmp_path: Path) -> None:
    folder = str(with_word_pieces(masked_bert(), tmp_path / "encoder"))
    first = load_pool(pool, encoder=folder, cache=str(tmp_path / "kept"))
    (file,) = (tmp_path / "kept").iterdir()
    assert np.array_equal(np.load(file), first.vectors)
    again = load_pool(pool, encoder=folder, cache=str(tmp_path / "kept") + "/")
    assert again.digest == first.digest
    np.save(file, first.vectors[:2])
    with pytest.raises(BadInput, match="delete it"):
        load_pool(pool, encoder=folder, cache=str(tmp_path / "kept") + "/.")
    np.save(file, first.vectors * np.float32(10))
    with pytest.raises(BadInput, match="longer than 1"):
        load_pool(pool, encoder=folder, cache=str(tmp_path / "kept") + "/./")


def test_a_pool_says_how_far_it_is_encoded(
    pool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "_AT_ONCE", 3)
    told: list[tuple[str, int | None, int]] = []

    @contextmanager
    def telling(label: str, total: int | None, *, unit_is_bytes: bool) -> Iterator[Advance]:
        assert not unit_is_bytes
        yield lambda reached: told.append((label, total, reached))

    monkeypatch.setattr(pools, "progress", telling)
    folder = str(with_word_pieces(masked_bert(), tmp_path / "encoder"))
    in_parts = load_pool(pool, encoder=folder, cache=str(tmp_path / "kept"))
    assert told == [("encoding the pool", 7, reached) for reached in (3, 6, 7)]
    whole = unit_rows(load_encoder(Path(folder)).encode_together(SENTENCES))
    assert np.allclose(in_parts.vectors, whole, atol=1e-5)


def test_longer_vectors_would_break_what_is_said_of_distances() -> None:
    vectors = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    pair = np.array([[0.05, 0.0], [0.0, 0.0]])
    honest = SentenceLaw(pool=pool_of(vectors), beta=8.0, low=-1.0, high=1.0)
    claim = 2 * honest.beta * 0.05
    assert largest_loss(honest, pair) <= claim
    # The twin: the same vectors, ten times as long, put in behind the check.
    twin = pool_of(vectors)
    object.__setattr__(twin, "vectors", twin.vectors * np.float32(10))
    assert largest_loss(replace(honest, pool=twin), pair) > claim
    for factor in (10.0, 1 + 1e-6, np.nan):
        with pytest.raises(BadInput, match="longer than 1"):
            pool_of(vectors * factor)


def roberta(folder: Path) -> str:
    torch.manual_seed(1)
    config = RobertaConfig(
        vocab_size=8192, hidden_size=8, num_hidden_layers=1, num_attention_heads=1,
        intermediate_size=8, max_position_embeddings=30, pad_token_id=1,
    )  # fmt: skip
    return str(with_our_tokenizer(RobertaModel(config), folder))


def test_no_length_of_a_sentence_stops_an_encoder(pool: str, tmp_path: Path) -> None:
    folder = roberta(tmp_path / "roberta")
    encoder = load_encoder(Path(folder))
    assert encoder.context == 28
    made = Sentences(pool=pool, encoder=folder, beta=5.0, most=1, fill=True)
    for words in (1, 20, 27, 28, 29, 30, 31, 400):
        assert made.rewrite(["Ann " * words], Randomness.secure())[0] in SENTENCES
    # The twin reads as many tokens as there are rows in its table, and fails for long texts.
    twin = replace(encoder, context=30)
    twin.encode_alone(["Ann"])
    with pytest.raises((IndexError, RuntimeError)):
        twin.encode_alone(["Ann " * 80])
    with pytest.raises(BadInput, match="row of 30 tokens"):
        twin.refuse_unfit()


def test_a_broken_vector_of_a_private_text_counts_as_none(tmp_path: Path) -> None:
    encoder = load_encoder(Path(roberta(tmp_path / "roberta")))
    (token,) = encoder.tokenizer.encode("zebra").tolist()[-1:]
    encoder.network.embeddings.word_embeddings.weight.data[token] = np.nan
    found = encoder.encode_alone(["Ann", "zebra"])
    assert np.isfinite(found).all()
    assert found[0].any()
    assert not found[1].any()
    # Of a pool, which is public, nothing is mended.
    with pytest.raises(BadInput, match="not finite"):
        encoder.encode_together(["Ann", "zebra"])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"epsilon": 1.0}, "public pool"),
        ({"pool": "p"}, "not both"),
        ({"pool": "p", "epsilon": 1.0, "beta": 1.0}, "not both"),
        ({"pool": "p", "beta": -1.0}, "negative"),
        ({"pool": "p", "beta": 60.0}, "below 1e-16"),
        ({"pool": "p", "epsilon": 0.0}, "epsilon"),
        ({"pool": "p", "epsilon": 1.0, "low": 0.7, "high": 0.1}, "cosines"),
        ({"pool": "p", "epsilon": 1.0, "fill": True}, "most"),
        ({"pool": "p", "epsilon": 1.0, "delta": 0.1}, "most"),
        ({"pool": "p", "epsilon": 1.0, "most": 0}, "most"),
        ({"pool": "p", "epsilon": 1.0, "most": 2, "fill": True, "metric": True}, "single"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        Sentences(**wrong)  # type: ignore[arg-type]


def test_a_level_that_no_draw_has_is_refused(pool: str) -> None:
    with pytest.raises(InvalidArgument, match="more than one draw"):
        Sentences(pool=pool, epsilon=99.0).guarantee()
    with pytest.raises(InvalidArgument, match="more than 2 sentences"):
        Sentences(pool=pool, epsilon=199.0, most=2, delta=1e-6).guarantee()


def test_it_does_all_that_a_mechanism_must(pool: str) -> None:
    check_mechanism("sentences", settings={"pool": pool, "beta": 3.0})
    same, other = Sentences(pool=pool, beta=3.0), Sentences(pool=pool, beta=3.5)
    assert mechanism_identity(same) == mechanism_identity(Sentences(pool=pool, beta=3))
    assert mechanism_identity(same) != mechanism_identity(other)
    identity = mechanism_identity(same)
    assert identity is not None
    assert not identity.private


def test_a_privatizer_rewrites_everything_and_nothing_less(pool: str) -> None:
    settings = {"pool": pool}
    made = Privatizer(policy="everything", mechanism="sentences", epsilon=9, settings=settings)
    texts = made.privatize([SECRET, None, "A glass of wine."])
    assert texts[0] in SENTENCES
    assert texts[1] is None
    assert made.guarantee().epsilon == pytest.approx(9)
    told = explain_text(made, SECRET)
    assert [one.original for one in told.words] == [SECRET]
    assert told.words[0].replacement == told.text
    assert told.source_words_kept == 0.0
    assert told.as_dict()["source_words_kept"] == 0.0
    for wrong, said in (
        ({"policy": "pii"}, "nothing to select"),
        ({"policy": "digits"}, "nothing to select"),
        ({"policy": "everything", "by_type": {"PERSON": "redact"}}, "by_type"),
        ({"policy": "everything", "unknown": "keep"}, "no word vectors"),
    ):
        with pytest.raises(InvalidArgument, match=said):
            Privatizer(mechanism="sentences", epsilon=9, settings=settings, **wrong).check()
    given = Privatizer(policy="everything", mechanism=Sentences(pool=pool, beta=3.0))
    assert given.privatize([SECRET])[0] in SENTENCES
    with pytest.raises(InvalidArgument, match="its own level"):
        replace_level(given, 3.0).check()


def replace_level(privatizer: Privatizer, epsilon: float) -> Privatizer:
    return privatizer.set_params(epsilon=epsilon)


def test_a_file_is_rewritten_with_its_guarantee_and_nothing_private_beside(
    pool: str, tmp_path: Path
) -> None:
    source, output = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text(f'id,text,more\n1,"{SECRET} Really, ""so""!",x\n2,,y\n')
    settings = {"pool": pool}
    made = privatize(
        source, output, mechanism="sentences", epsilon=9, settings=settings, keep=["id", "more"]
    )
    written = output.read_text().splitlines()
    assert written[0] == "id,text,more"
    assert len(written) == 3
    assert "Zanzibar" not in output.read_text()
    assert made.counts == {
        "documents": 2,
        "words": None,
        "privatized_words": None,
        "uncovered_words": 0,
        "rewritten_documents": 2,
    }
    assert "2 documents, 2 rewritten" in made.lines[0]
    side = (tmp_path / "out.csv.guarantee.json").read_text()
    assert "Zanzibar" not in side
    assert str(tmp_path) not in side
    told = json.loads(side)["settings"]["mechanism_settings"]
    assert told["sentences_in_pool"] == len(SENTENCES)
    again = privatize(
        source, output, mechanism="sentences", epsilon=9, settings=settings, keep=["id", "more"],
        resume=True,
    )  # fmt: skip
    assert again.already_finished
    seen = privatize(source, mechanism="sentences", epsilon=9, settings=settings, dry_run=True)
    assert seen.counts["documents"] == 2
    assert any("Source words kept" in line for line in seen.lines)
    with pytest.raises(InvalidArgument, match="several texts"):
        privatize(
            source, tmp_path / "two.csv", mechanism="sentences", epsilon=9, settings=settings,
            field=["text", "more"],
        )  # fmt: skip
    with pytest.raises(InvalidArgument, match="nothing to select"):
        privatize(
            source, tmp_path / "two.csv", mechanism="sentences", epsilon=9, settings=settings,
            policy="pii",
        )  # fmt: skip
