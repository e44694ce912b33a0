"""A saved model is whole or not there, in safetensors, and loads to the same network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from sfumato.core.errors import OutputExists, StorageFailed
from sfumato.core.randomness import Randomness
from sfumato.models.bpe import train_bpe
from sfumato.models.load import LoadedModel, load_model, save_model
from unit.models import folders


def built(name: str, **options: Any) -> LoadedModel:
    return load_model(name, randomness=Randomness.reproducible(4), **options)


SMALL: dict[str, dict[str, Any]] = {
    "lstm": {"settings": {"hidden": 8, "embedding": 8}},
    "lstm-tied": {"settings": {"hidden": 8, "embedding": 8, "tied": True}},
    "gpt-small": {"settings": {"layers": 1, "width": 8, "heads": 2, "context": 32}},
}


def assert_the_same(again: LoadedModel, model: LoadedModel, tokens: torch.Tensor) -> None:
    """The weights bit for bit; what is computed from them as far as sums of floats repeat.

    Where a tensor begins in memory decides how it is added up, and so the last bit.
    """
    kept, loaded = model.network.state_dict(), again.network.state_dict()
    assert kept.keys() == loaded.keys()
    for name, weights in kept.items():
        assert torch.equal(loaded[name], weights), name
    with torch.no_grad():
        torch.testing.assert_close(
            again.network.eval()(input_ids=tokens).logits,
            model.network.eval()(input_ids=tokens).logits,
        )


def test_one_other_bit_of_one_weight_is_another_model(tmp_path: Path) -> None:
    model = built("lstm", **SMALL["lstm"])
    save_model(model, tmp_path / "model")
    again = built(str(tmp_path / "model"))
    tokens = torch.arange(5, 9)[None]
    assert_the_same(again, model, tokens)
    bias = again.network.state_dict()["decoder.bias"]
    bias[7] = torch.nextafter(bias[7], torch.tensor(1.0))
    with pytest.raises(AssertionError, match=r"decoder\.bias"):
        assert_the_same(again, model, tokens)


@pytest.mark.parametrize("name", SMALL)
def test_what_is_saved_loads_to_the_same(tmp_path: Path, name: str) -> None:
    tokenizer = train_bpe(["a public text"] * 2, public=True, size=262)
    model = built(name.removesuffix("-tied"), tokenizer=tokenizer, **SMALL[name])
    save_model(model, tmp_path / "model")
    again = built(str(tmp_path / "model"))
    tokens = torch.tensor([tokenizer.encode("another text, 😀").tolist()])
    assert again.tokenizer.encode("another text, 😀").tolist() == tokens[0].tolist()
    assert_the_same(again, model, tokens)
    assert again.context == model.context
    assert (tmp_path / "model" / "model.safetensors").is_file()
    assert [one.name for one in tmp_path.iterdir()] == ["model"]


def test_a_classifier_keeps_its_classes(tmp_path: Path) -> None:
    model = built("gpt-small", kind="classifier", classes=("no", "yes"), **SMALL["gpt-small"])
    save_model(model, tmp_path / "model")
    again = built(str(tmp_path / "model"), kind="classifier")
    assert again.classes == ("no", "yes")
    assert_the_same(again, model, torch.arange(5, 9)[None])


def test_no_file_of_a_saved_model_tells_where_it_came_from(tmp_path: Path) -> None:
    folder = folders.with_our_tokenizer(folders.gpt2(), tmp_path / "secret-place")
    save_model(built(str(folder)), tmp_path / "model")
    for file in (tmp_path / "model").iterdir():
        assert b"secret-place" not in file.read_bytes()


def test_nothing_of_somebody_else_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    model = built("lstm", **SMALL["lstm"])
    with pytest.raises(OutputExists, match="exists already"):
        save_model(model, tmp_path / "model")
    with pytest.raises(StorageFailed, match=r"there is no folder .*nowhere"):
        save_model(model, tmp_path / "nowhere" / "model")


def test_a_failure_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = built("lstm", **SMALL["lstm"])

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(model.tokenizer.backend, "save_pretrained", full, raising=False)
    with pytest.raises(StorageFailed, match="No space left"):
        save_model(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
