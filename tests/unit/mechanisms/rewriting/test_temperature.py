"""A language model writes anew: the level against the worst scores, batches, what is refused."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    PreTrainedModel,
    RobertaConfig,
    RobertaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
)

from sfumato.accounting.bounded_range import exact_level
from sfumato.audits.verify import Effort, refute
from sfumato.core.arrays import Floats
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.identity import mechanism_identity
from sfumato.mechanisms.rewriting.temperature import BATCH_LEAK, Temperature
from sfumato.mechanisms.rewriting.token_law import OnTokens, TokenLaw
from sfumato.models.writing import load_writer
from sfumato.releases.privatizer import Privatizer
from sfumato.testing import check_mechanism
from statistical import budget
from unit.models.folders import gpt2, llama, with_our_tokenizer

PROMPT = "{} :"
TEXTS = ["The train to Lisbon leaves at nine.", "Wine!", "", "A cold morning, and then a long one."]


def t5() -> PreTrainedModel:
    torch.manual_seed(1)
    sizes: dict[str, Any] = {
        "vocab_size": 8192, "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2,
    }  # fmt: skip
    numbers: dict[str, Any] = {"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 0}
    return T5ForConditionalGeneration(T5Config(**sizes, **numbers))


MAKERS: dict[str, Callable[[], PreTrainedModel]] = {"gpt2": gpt2, "llama": llama, "t5": t5}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    place = tmp_path_factory.mktemp("models")
    torch.manual_seed(2)
    found = {}
    for name, make in MAKERS.items():
        model = make()
        # Fresh weights give all tokens nearly the same score.
        for parameter in model.parameters():
            parameter.data *= 6
        found[name] = str(with_our_tokenizer(model, place / name))
    return found


@pytest.fixture
def vocabulary(tmp_path: Path) -> str:
    path = tmp_path / "public.txt"
    path.write_text("Red wine and cold water stand on the table.\n" * 3)
    return str(path)


def largest_loss(law: TokenLaw, scores: Floats) -> float:
    logs = law.logs(scores)
    rows = logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))
    return float((rows[:, None] - rows[None]).max())


def test_the_worst_scores_reach_the_level_of_a_token_and_none_exceeds_it() -> None:
    law = TokenLaw(tokens=np.arange(4), window=3.0, temperature=0.5)
    worst = 100.0 * np.array(list(product((0.0, 1.0), repeat=4)))
    assert law.level == exact_level(6.0, 4)
    assert largest_loss(law, worst) == pytest.approx(law.level, rel=1e-12)
    generator = np.random.default_rng(5)
    wild = generator.normal(size=(300, 4)) * generator.choice([0.1, 3.0, 1e4], size=(300, 1))
    assert largest_loss(law, np.vstack([worst, wild])) <= law.level


def test_twins_exceed_the_level() -> None:
    law = TokenLaw(tokens=np.arange(4), window=3.0, temperature=0.5)
    worst = 100.0 * np.array(list(product((0.0, 1.0), repeat=4)))
    # Without the window, and at half of the temperature that is charged for.
    uncut = replace(law, window=200.0)
    assert largest_loss(uncut, worst) > law.level
    assert largest_loss(replace(law, temperature=0.25), worst) > law.level
    # A window of fixed scores instead of one below the best: noise, if the model's scores are high.
    assert np.ptp(np.clip(worst[1:2] + 30.0, 0.0, 3.0)) == 0.0
    assert np.ptp(law.logs(worst[1:2] + 30.0)) == pytest.approx(law.score_range)


@dataclass(frozen=True, kw_only=True, eq=False)
class TopThree(TokenLaw):
    """The three best tokens of each document, with the claim for all."""

    def logs(self, scores: Floats) -> Floats:
        found = super().logs(scores)
        third = np.sort(found, axis=-1)[..., -3:-2]
        return np.where(found >= third, found, -np.inf)


def test_verify_spares_the_law_and_refutes_a_support_from_the_text(folders: dict[str, str]) -> None:
    made = Temperature(model=folders["gpt2"], window=6.0, temperature=3.0, prompt="{}")
    (honest,) = made.points()
    assert isinstance(honest, OnTokens)
    effort, noise = Effort(draws=400, pairs=20), Randomness.reproducible(3)
    sure = 1 - budget.level("rewriting: true claims", "temperature")
    spared = refute(honest, confidence=sure, effort=effort, randomness=noise.stream(0))
    assert not spared.refuted
    broken = replace(honest, law=TopThree(tokens=honest.law.tokens, window=6.0, temperature=3.0))
    assert refute(broken, effort=effort, randomness=noise.stream(1)).refuted


def test_the_figure_of_twenty_four_tokens() -> None:
    event = exact_level(8.0 / 0.5, 49_152)
    assert 24 * event == pytest.approx(643, abs=0.5)


@pytest.mark.parametrize("name", MAKERS)
def test_documents_do_not_influence_each_other(folders: dict[str, str], name: str) -> None:
    settings: dict[str, Any] = {"model": folders[name], "window": 6.0, "tokens": 5}
    alone = Temperature(prompt=PROMPT, **settings)
    batched = Temperature(prompt=PROMPT, batch=4, **settings)
    each = [
        alone.rewrite([""] * place + [text], Randomness.reproducible(1))[place]
        for place, text in enumerate(TEXTS)
    ]
    assert alone.rewrite(TEXTS, Randomness.reproducible(1)) == each
    assert batched.rewrite(TEXTS, Randomness.reproducible(1)) == each
    assert BATCH_LEAK in batched.guarantee().leaks
    assert alone.guarantee().leaks == ()


@pytest.mark.parametrize("name", MAKERS)
def test_steps_with_a_cache_are_those_of_the_whole_row(folders: dict[str, str], name: str) -> None:
    writer = load_writer(Path(folders[name]))
    rows = [[5, 9, 11], [7], [3, 4, 5, 6, 7, 8]]
    together = writer.begin(rows)
    for place, row in enumerate(rows):
        single = writer.begin([row])
        assert np.allclose(single.scores[0], together.scores[place], atol=1e-4)
    together.step([20, 21, 22])
    for place, row in enumerate(rows):
        if not writer.reads_apart:
            whole = writer.begin([[*row, 20 + place]])
            assert np.allclose(whole.scores[0], together.scores[place], atol=1e-4)


def test_only_public_tokens_are_written(folders: dict[str, str], vocabulary: str) -> None:
    made = Temperature(
        model=folders["gpt2"], window=2.0, tokens=6, vocabulary=vocabulary, prompt=PROMPT
    )
    tokenizer = made.writer.tokenizer
    allowed = set(made.law.tokens.tolist())
    wanted = set(map(int, tokenizer.encode("Red wine and cold water stand on the table.")))
    assert allowed == {*wanted, tokenizer.end}
    text = " ".join(made.rewrite(["Lisbon"] * 8, Randomness.reproducible(1)))
    assert "isbon" not in text
    assert made.guarantee().epsilon == pytest.approx(6 * exact_level(4.0, len(allowed)))
    few = replace(made, vocabulary_size=3)
    assert len(few.law.tokens) == 4
    whole = Temperature(model=folders["gpt2"], window=2.0, prompt=PROMPT)
    special = set(tokenizer.backend.all_special_ids)
    assert special & set(whole.law.tokens.tolist()) == {tokenizer.end}


def test_the_cap_is_public_and_the_end_is_one_of_the_draws(folders: dict[str, str]) -> None:
    made = Temperature(model=folders["gpt2"], window=2.0, tokens=4, prompt=PROMPT)
    law = TokenLaw(
        tokens=np.array([0, 50]), window=made.law.window, temperature=made.law.temperature
    )
    made.__dict__["law"] = law  # with two tokens to choose from, a text often ends early
    assert made.writer.tokenizer.end == 0
    texts = made.rewrite(["A " * 40] * 40 + [""] * 40, Randomness.reproducible(2))
    token = made.writer.tokenizer.decode([50]).strip()
    lengths = [text.count(token) for text in texts]
    assert max(lengths) <= 4
    assert min(lengths) < 4
    # Long documents are cut to what the model reads, and empty ones are documents, too.
    assert len(made.rewrite(["word " * 500], Randomness.reproducible(1))) == 1


class Follows(Temperature):
    """Writes as many tokens as the document has words."""

    def rewrite(self, documents: Sequence[str], randomness: Randomness) -> list[str]:
        found = []
        for place, one in enumerate(documents):
            capped = replace(self, tokens=max(1, len(one.split())))
            capped.__dict__["law"] = self.law
            found += Temperature.rewrite(capped, [one], randomness.stream(place))
        return found


def test_without_an_end_every_output_has_as_many_tokens(folders: dict[str, str]) -> None:
    made = Temperature(model=folders["gpt2"], window=2.0, tokens=4, prompt=PROMPT)
    endless = TokenLaw(tokens=np.array([50, 60]), window=2.0, temperature=0.5)

    def lengths(mechanism: Temperature, texts: list[str]) -> list[int]:
        mechanism.__dict__["law"] = endless
        tokenizer = mechanism.writer.tokenizer
        new = mechanism.rewrite(texts, Randomness.reproducible(1))
        pieces = [tokenizer.decode([token]).strip() for token in (50, 60)]
        return [sum(text.count(piece) for piece in pieces) for text in new]

    texts = ["a", "a much longer text than that", "a much longer text", ""]
    assert lengths(made, texts) == [4, 4, 4, 4]
    # The twin's cap is the length of the document: without an end that shows, at any level.
    twin = Follows(model=folders["gpt2"], window=2.0, tokens=4, prompt=PROMPT)
    assert lengths(twin, texts) == [1, 6, 4, 1]


def test_special_tokens_are_read_from_a_prompt_and_never_from_a_document(
    folders: dict[str, str],
) -> None:
    made = Temperature(model=folders["gpt2"], window=2.0, tokens=2, prompt="<|endoftext|>{} :")
    tokenizer = made.writer.tokenizer
    assert tokenizer.end is not None
    marked = tokenizer.decode([tokenizer.end])
    made = replace(made, prompt=marked + "{} :")
    row = made._row(tokenizer.encode(f"{marked} hello").tolist())
    assert row.count(tokenizer.end) == 1
    assert row[0] == tokenizer.end


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_the_window_is_the_widest_for_the_level(folders: dict[str, str], delta: float) -> None:
    made = Temperature(model=folders["gpt2"], epsilon=60.0, delta=delta, prompt=PROMPT)
    assert 60 * (1 - 1e-6) <= made.guarantee().epsilon <= 60 * (1 + 1e-9)
    with pytest.raises(InvalidArgument, match="more than"):
        Temperature(model=folders["gpt2"], epsilon=5000.0, delta=delta, prompt=PROMPT).guarantee()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"top_k": 50}, "makes all others impossible"),
        ({"top_p": 0.9}, "makes all others impossible"),
        ({"min_p": 0.1}, "makes tokens impossible"),
        ({"beams": 4}, "no draw at all"),
        ({"repetition_penalty": 1.2}, "out of their window"),
        ({"model": ""}, "FOLDER"),
        ({"epsilon": 3.0}, "not both"),
        ({"window": None}, "not both"),
        ({"window": 40.0}, "below 1e-16"),
        ({"temperature": 0.0}, "temperature"),
        ({"tokens": 0}, "tokens"),
        ({"prompt": "no place"}, "prompt"),
        ({"vocabulary_size": 10}, "vocabulary"),
        ({"delta": 1.0}, "delta"),
    ],
    ids=str,
)
def test_what_breaks_the_claim_is_refused_with_the_reason(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        Temperature(**{"model": "m", "window": 4.0, **wrong})


WILD = (np.nan, np.inf, -np.inf, 0.0, 1e308, -1e308)


class Unmapped(TokenLaw):
    """The window without a word about scores that are no numbers."""

    def logs(self, scores: Floats) -> Floats:
        with np.errstate(invalid="ignore", over="ignore"):
            below = scores - scores.max(axis=-1, keepdims=True)
            return np.asarray(np.maximum(below, -self.window) / self.temperature)


def test_scores_that_are_no_numbers_stay_in_the_window() -> None:
    law = TokenLaw(tokens=np.arange(3), window=3.0, temperature=0.5)
    scores = np.array(list(product(WILD, repeat=3)))
    found = law.logs(scores)
    assert ((found >= -law.score_range) & (found <= 0)).all()
    assert largest_loss(law, scores) <= law.level * (1 + 1e-12)
    assert law.logs(np.array([np.nan, 1.0, 0.0])).tolist() == [-6.0, 0.0, -2.0]
    assert law.logs(np.array([np.nan, np.inf, 5.0])).tolist() == [-6.0, 0.0, -6.0]
    assert law.logs(np.array([np.nan, -np.inf, np.nan])).tolist() == [0.0, 0.0, 0.0]
    # The twin leaves the window, and so what it claims.
    twin = Unmapped(tokens=law.tokens, window=3.0, temperature=0.5)
    assert not ((twin.logs(scores) >= -law.score_range) & (twin.logs(scores) <= 0)).all()


def test_a_document_with_broken_scores_stops_nothing_and_a_broken_model_is_refused(
    folders: dict[str, str], tmp_path: Path
) -> None:
    made = Temperature(model=folders["gpt2"], window=2.0, tokens=2, prompt=PROMPT)
    hurt = gpt2()
    for parameter in hurt.parameters():
        parameter.data *= 6
    # Of one token that the prompt has not: only a document with it is hurt.
    (token,) = made.writer.tokenizer.encode("zebra").tolist()[-1:]
    assert token not in made._row([])
    hurt.get_input_embeddings().weight.data[token] = np.nan  # type: ignore[operator]
    folder = str(with_our_tokenizer(hurt, tmp_path / "hurt"))
    others = np.array([one for one in range(2, 400) if one != token])
    part = replace(made, model=folder)
    part.__dict__["law"] = TokenLaw(tokens=others, window=2.0, temperature=0.5)
    assert not np.isfinite(part.writer.begin([part._row([token])]).scores).any()
    assert len(part.rewrite(["a", "zebra"], Randomness.reproducible(1))) == 2
    for parameter in hurt.parameters():
        parameter.data *= np.nan
    whole = str(with_our_tokenizer(hurt, tmp_path / "nan"))
    with pytest.raises(BadInput, match="prompt alone"):
        Privatizer(
            policy="everything",
            mechanism="temperature",
            settings={"model": whole, "window": 2.0, "tokens": 2, "prompt": PROMPT},
        ).check()


def test_what_the_model_has_no_room_for_is_refused_before_any_text(
    folders: dict[str, str], tmp_path: Path
) -> None:
    with pytest.raises(InvalidArgument, match="no room"):
        Temperature(model=folders["gpt2"], window=2.0, tokens=40).guarantee()
    torch.manual_seed(1)
    config = BartConfig(
        vocab_size=8192, d_model=8, encoder_layers=1, decoder_layers=1, encoder_ffn_dim=8,
        decoder_ffn_dim=8, encoder_attention_heads=1, decoder_attention_heads=1,
        max_position_embeddings=20, pad_token_id=1, bos_token_id=0, eos_token_id=0,
        decoder_start_token_id=0, forced_eos_token_id=0,
    )  # fmt: skip
    folder = str(with_our_tokenizer(BartForConditionalGeneration(config), tmp_path / "bart"))
    settings: dict[str, Any] = {"model": folder, "window": 2.0, "prompt": PROMPT}
    most = Temperature(tokens=20, **settings)
    most.__dict__["law"] = TokenLaw(tokens=np.array([50, 60]), window=2.0, temperature=0.5)
    assert len(most.rewrite(["word " * 100], Randomness.reproducible(1))) == 1
    with pytest.raises(InvalidArgument, match="decoder"):
        Temperature(tokens=21, **settings).guarantee()


def test_a_model_that_counts_places_from_its_padding_on_reads_fewer(tmp_path: Path) -> None:
    torch.manual_seed(1)
    config = RobertaConfig(
        vocab_size=8192, hidden_size=8, num_hidden_layers=1, num_attention_heads=1,
        intermediate_size=8, max_position_embeddings=30, pad_token_id=1, is_decoder=True,
    )  # fmt: skip
    folder = with_our_tokenizer(RobertaForCausalLM(config), tmp_path / "roberta")
    assert load_writer(folder).context == 28
    made = Temperature(model=str(folder), window=2.0, tokens=3, prompt=PROMPT)
    assert len(made.rewrite(["word " * 100], Randomness.reproducible(1))) == 1


def test_it_does_all_that_a_mechanism_must(folders: dict[str, str]) -> None:
    settings = {"model": folders["gpt2"], "window": 3.0, "tokens": 3, "prompt": PROMPT}
    check_mechanism("temperature", settings=settings)
    one, other = Temperature(**settings), Temperature(**settings | {"tokens": 4})  # type: ignore[arg-type]
    assert mechanism_identity(one) != mechanism_identity(other)
    made = Privatizer(policy="everything", mechanism="temperature", settings=settings)
    texts = made.privatize(TEXTS)
    assert len(texts) == len(TEXTS)
    assert "any two documents" in made.guarantee().sentence()
    assert made.public_settings()["mechanism_settings"]["model"] == "gpt2"


@pytest.mark.resources
def test_a_small_model_writes(tmp_path: Path) -> None:
    folder = Path(os.environ.get("SFUMATO_RESOURCES", "../shared")) / "models" / "stories15m"
    if not folder.is_dir():
        pytest.skip("stories15m is not there (SFUMATO_RESOURCES)")
    made = Temperature(model=str(folder), window=12.0, temperature=0.5, tokens=12, prompt="{}")
    wide = made.rewrite(["Once upon a time there was a little"], Randomness.reproducible(1))
    assert len(wide[0].split()) >= 3
    assert made.guarantee().epsilon == pytest.approx(12 * exact_level(24.0, len(made.law.tokens)))
