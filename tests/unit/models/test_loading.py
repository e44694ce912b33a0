"""Models by name and from folders: what is loaded is whole, in float32, causal, and fits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import BertForSequenceClassification, PreTrainedModel

from sfumato.core.errors import BadInput, InvalidArgument, MissingModel, UnknownName
from sfumato.core.randomness import Randomness
from sfumato.models.bpe import train_bpe
from sfumato.models.load import LoadedModel, draw_weights_from, load_model
from sfumato.text.document import Document
from unit.models import folders

REVIEWS = ("bad", "good")


def load(spec: str | Path, **options: Any) -> LoadedModel:
    return load_model(str(spec), randomness=Randomness.reproducible(1), **options)


def logits(model: PreTrainedModel) -> torch.Tensor:
    with torch.no_grad():
        output: torch.Tensor = model.eval()(input_ids=torch.arange(5, 11)[None]).logits
    return output


def parameters(model: LoadedModel) -> int:
    return sum(one.numel() for one in model.network.parameters())


def test_the_built_in_models() -> None:
    lstm, gpt = load("lstm"), load("gpt-small")
    assert parameters(lstm) == 3_606_592
    assert parameters(gpt) == 5_322_240
    assert (lstm.context, gpt.context) == (256, 256)
    assert lstm.tokenizer.size == gpt.tokenizer.size == 8192
    assert gpt.network.config.resid_pdrop == 0


def test_settings_arrive_as_text_or_as_values() -> None:
    one = load("gpt-small", settings={"layers": "1", "width": "32", "context": "64"})
    two = load("gpt-small", settings={"layers": 1, "width": 32, "context": 64})
    assert parameters(one) == parameters(two)
    assert one.context == 64
    with pytest.raises(UnknownName, match="did you mean 'layers'"):
        load("gpt-small", settings={"layer": 3})
    with pytest.raises(InvalidArgument, match="width=30 must be a multiple of heads=4"):
        load("gpt-small", settings={"width": 30})


def test_another_public_tokenizer_gives_another_vocabulary() -> None:
    tokenizer = train_bpe(["some public text about whales"] * 3, public=True, size=270)
    assert load("lstm", tokenizer=tokenizer).network.config.vocab_size == tokenizer.size


def test_the_same_stream_gives_the_same_weights() -> None:
    small = {"layers": 1, "width": 16, "heads": 2}
    one, two = (load("gpt-small", settings=small).network for _ in range(2))
    other = load_model("gpt-small", randomness=Randomness.secure(), settings=small).network
    assert torch.equal(logits(one), logits(two))
    assert not torch.equal(logits(one), logits(other))


@pytest.mark.parametrize("make", [folders.gpt2, folders.llama])
def test_a_causal_model_from_a_folder(tmp_path: Path, make: Any) -> None:
    model = make()
    loaded = load(folders.with_our_tokenizer(model, tmp_path))
    kept = dict(loaded.network.named_parameters())
    assert all(torch.equal(one, kept[name]) for name, one in model.named_parameters())
    # Weights read from a file begin anywhere in memory, which changes the last bit of a sum.
    torch.testing.assert_close(logits(loaded.network), logits(model))
    assert loaded.context == model.config.max_position_embeddings


def test_half_precision_on_disk_is_single_precision_here(tmp_path: Path) -> None:
    loaded = load(folders.with_our_tokenizer(folders.gpt2(torch.float16), tmp_path))
    assert {one.dtype for one in loaded.network.parameters()} == {torch.float32}


def test_a_new_head_on_a_pretrained_body(tmp_path: Path) -> None:
    folder = folders.with_word_pieces(folders.bert(), tmp_path)
    loaded = load(folder, kind="classifier", classes=REVIEWS)
    assert loaded.classes == REVIEWS
    assert loaded.network.config.id2label == {0: "bad", 1: "good"}
    assert logits(loaded.network).shape == (1, 2)
    assert loaded.tokenizer.frame == ((2,), (3,))
    again = load(folder, kind="classifier", classes=REVIEWS)
    same = dict(again.network.named_parameters())
    assert all(torch.equal(one, same[name]) for name, one in loaded.network.named_parameters())
    torch.testing.assert_close(logits(loaded.network), logits(again.network))


def test_a_trained_head_keeps_its_classes(tmp_path: Path) -> None:
    folder = folders.with_word_pieces(folders.bert_classifier(["good", "bad"]), tmp_path)
    assert load(folder, kind="classifier").classes == ("good", "bad")
    assert load(folder, kind="classifier", classes=REVIEWS).classes == ("good", "bad")
    with pytest.raises(InvalidArgument, match=r"2 classes \(good, bad\), not a, b, c"):
        load(folder, kind="classifier", classes=("a", "b", "c"))


def test_a_trained_head_without_names_takes_those_that_are_given(tmp_path: Path) -> None:
    folder = folders.with_word_pieces(folders.bert(BertForSequenceClassification), tmp_path)
    assert load(folder, kind="classifier", classes=REVIEWS).classes == REVIEWS


def test_transformers_of_both_shapes_classify() -> None:
    loaded = load("gpt-small", kind="classifier", classes=REVIEWS, settings={"layers": 1})
    assert logits(loaded.network).shape == (1, 2)


def test_positions_that_are_not_for_text_are_left_out(tmp_path: Path) -> None:
    folder = folders.with_word_pieces(folders.roberta(), tmp_path)
    assert load(folder, kind="classifier", classes=REVIEWS).context == 24 - 2


def test_an_encoder_is_not_taken_for_a_language_model(tmp_path: Path) -> None:
    folder = folders.with_word_pieces(folders.masked_bert(), tmp_path)
    with pytest.raises(InvalidArgument, match="sees the words it should predict"):
        load(folder)


def test_a_body_without_its_head_is_not_a_language_model(tmp_path: Path) -> None:
    folder = folders.with_our_tokenizer(folders.llama().model, tmp_path)
    with pytest.raises(BadInput, match=r"not a complete language model.*lm_head.weight"):
        load(folder)


def test_a_tokenizer_larger_than_the_model_is_refused(tmp_path: Path) -> None:
    model = folders.bert()
    folders.with_our_tokenizer(model, tmp_path)
    with pytest.raises(InvalidArgument, match=r"8192 tokens, but the model in .* 12"):
        load(tmp_path, kind="classifier", classes=REVIEWS)


def test_a_model_with_a_tokenizer_keeps_it_and_one_without_takes_any(tmp_path: Path) -> None:
    tokenizer = train_bpe(["public text"] * 2, public=True, size=260)
    folders.gpt2().save_pretrained(tmp_path / "bare")
    assert load(tmp_path / "bare", tokenizer=tokenizer).tokenizer is tokenizer
    with pytest.raises(MissingModel, match="holds no tokenizer"):
        load(tmp_path / "bare")
    folder = folders.with_our_tokenizer(folders.gpt2(), tmp_path / "whole")
    with pytest.raises(InvalidArgument, match="a tokenizer of its own"):
        load(folder, tokenizer=tokenizer)
    with pytest.raises(InvalidArgument, match=r"sizes of .* are fixed"):
        load(folder, settings={"layers": 1})


@pytest.mark.parametrize("spec", ["./nowhere", "/no/such/model", "../nowhere/at/all", "a/b/c"])
def test_a_missing_folder_is_named(spec: str) -> None:
    with pytest.raises(MissingModel, match=f"no folder {spec} "):
        load(spec)


def test_a_folder_without_a_model_and_a_file_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(MissingModel, match=r"holds no model: there is no config.json"):
        load(tmp_path)
    with pytest.raises(MissingModel, match="is a file; a model is a folder"):
        load(tmp_path / "file")


@pytest.mark.parametrize("damage", ["config.json", "model.safetensors"])
def test_a_damaged_folder_is_named_without_a_traceback(tmp_path: Path, damage: str) -> None:
    folder = folders.with_our_tokenizer(folders.gpt2(), tmp_path)
    (folder / damage).write_text("{")
    with pytest.raises(BadInput, match=r"cannot be loaded as a |config\.json is damaged") as caught:
        load(folder)
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_a_folder_without_weights_is_named(tmp_path: Path) -> None:
    folder = folders.with_our_tokenizer(folders.gpt2(), tmp_path)
    (folder / "model.safetensors").unlink()
    with pytest.raises(BadInput, match="only weights in safetensors are read, and there are none"):
        load(folder)


def test_code_that_comes_with_a_model_is_not_run(tmp_path: Path) -> None:
    folder = folders.with_our_tokenizer(folders.gpt2(), tmp_path)
    trace = tmp_path / "was-run"
    (folder / "modeling.py").write_text(f"open({str(trace)!r}, 'w')")
    (folder / "config.json").write_text(
        '{"model_type": "mine", "auto_map": {"AutoConfig": "modeling.C", '
        '"AutoModelForCausalLM": "modeling.M"}}'
    )
    with pytest.raises(BadInput, match=r"code of its own \(auto_map\)"):
        load(folder)
    assert not trace.exists()


def test_what_does_not_fit_together_is_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'classifier'"):
        load("lstm", kind="classifer")
    with pytest.raises(InvalidArgument, match="a language model has none"):
        load("lstm", classes=REVIEWS)
    with pytest.raises(InvalidArgument, match="at least two classes, not 0"):
        load("gpt-small", kind="classifier")
    with pytest.raises(InvalidArgument, match="differ from each other"):
        load("gpt-small", kind="classifier", classes=("a", "a"))


def test_loading_says_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = folders.with_word_pieces(folders.bert(), tmp_path)
    capfd.readouterr()
    load(folder, kind="classifier", classes=REVIEWS)
    assert capfd.readouterr() == ("", "")


@pytest.mark.resources
def test_a_real_pretrained_model_predicts_real_text(resources: Path) -> None:
    loaded = load(resources / "models" / "stories15m")
    assert loaded.context == 256
    assert parameters(loaded) == 15_191_712
    assert {one.dtype for one in loaded.network.parameters()} == {torch.float32}
    text = Document("Once upon a time, there was a little girl named Lily. She loved to play.").text
    tokens = torch.tensor([[1, *loaded.tokenizer.encode(text).tolist()]])
    with torch.no_grad():
        scores = loaded.network(input_ids=tokens).logits[0, :-1]
    loss = torch.nn.functional.cross_entropy(scores, tokens[0, 1:]).item()
    assert loss < 2, "a model of children's stories must find this beginning likely"


def test_a_seed_is_set_for_the_processor_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """For other devices torch would note it, with the stack, at every step of a training."""

    def refuse(seed: int) -> None:
        raise AssertionError("a seed for another device")

    monkeypatch.setattr(torch.cuda, "manual_seed_all", refuse)
    before = torch.get_rng_state()
    with draw_weights_from(Randomness.reproducible(4)):
        drawn = torch.rand(3)
    assert torch.equal(torch.get_rng_state(), before)
    with draw_weights_from(Randomness.reproducible(4)):
        assert torch.equal(torch.rand(3), drawn)
    # The twin that seeds everything is noticed.
    with pytest.raises(AssertionError, match="another device"):
        torch.manual_seed(4)
    torch.set_rng_state(before)
