"""Bag of words, filters, recurrent layers from both ends: against plain code, padded or not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import AutoModelForSequenceClassification

from sfumato.core.errors import BadInput, CoupledRows, InvalidArgument, UnsupportedLayer
from sfumato.core.randomness import Randomness
from sfumato.models.bag_network import BagForSequenceClassification
from sfumato.models.bag_of_words import BagOfWords
from sfumato.models.bilstm import BiLstm
from sfumato.models.bilstm_network import BiLstmForSequenceClassification
from sfumato.models.cnn import Cnn
from sfumato.models.cnn_network import CnnForSequenceClassification
from sfumato.models.kinds import kind_in, kind_of
from sfumato.models.load import LoadedModel, load_model, register_own, save_model
from sfumato.models.trainable import Trainable
from sfumato.training.clipping.layers.rules import compare_with_loop
from sfumato.training.clipping.losses import record_losses
from sfumato.training.clipping.recording import Recording
from unit.training.runs import tokenizer

CLASSES = ("a", "b", "c")
SMALL: dict[str, tuple[str, dict[str, Any]]] = {
    "bag of words": ("bag-of-words", {"embedding": 6}),
    "bag of words, sum": ("bag-of-words", {"embedding": 6, "combine": "sum"}),
    "cnn": ("cnn", {"embedding": 6, "filters": 5, "widths": (2, 3, 5)}),
    "bilstm": ("bilstm", {"embedding": 6, "hidden": 5}),
    "bilstm, max": ("bilstm", {"embedding": 6, "hidden": 5, "combine": "max"}),
}
# A text that is shorter than the widest filter, one word, no word at all, repeated words.
TEXTS: tuple[list[int], ...] = (
    [9, 8, 7, 6, 5, 4, 3],
    [2, 9, 2],
    [7],
    [],
    [5, 5, 5, 5, 5, 5],
    [4, 3, 9, 8],
)
PADDING = 0


def built(name: str, seed: int = 1) -> LoadedModel:
    spec, settings = SMALL[name]
    return load_model(
        spec,
        randomness=Randomness.reproducible(seed),
        kind="classifier",
        classes=CLASSES,
        tokenizer=tokenizer(),
        settings=settings,
    )


def network(name: str) -> Any:
    """In double precision, with no bias that is zero."""
    found: Any = built(name).network.double()
    chance = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for one in found.parameters():
            one.add_(0.3 * torch.randn(one.shape, generator=chance, dtype=one.dtype))
    return found


def batch(texts: Any = TEXTS, width: int = 7, padding: int = PADDING) -> dict[str, Tensor]:
    tokens = [[*text, *[padding] * (width - len(text))] for text in texts]
    counted = [[1] * len(text) + [0] * (width - len(text)) for text in texts]
    return {"input_ids": torch.tensor(tokens), "attention_mask": torch.tensor(counted)}


def scores(found: Any, **given: Any) -> Tensor:
    logits: Tensor = found(**batch(**given)).logits
    return logits


def by_hand(found: Any, text: list[int]) -> Tensor:
    """One text, without padding, by torch's own layers or by loops."""
    embedded = found.embedding(torch.tensor(text, dtype=torch.long))
    if not text:
        embedded = embedded.new_zeros(1, 6)
    if isinstance(found, BagForSequenceClassification):
        read = embedded.sum(0) / (len(embedded) if found.config.combine == "mean" else 1)
    elif isinstance(found, CnnForSequenceClassification):
        answers = []
        filters: Any
        for width, filters in found.convolutions.items():
            zeros = embedded.new_zeros(max(0, int(width) - len(embedded)), 6)
            words = torch.cat([embedded, zeros])
            windows = [
                torch.einsum("oiw,wi->o", filters.weight, words[start : start + int(width)])
                for start in range(len(words) - int(width) + 1)
            ]
            answers.append((torch.stack(windows) + filters.bias).max(0).values.clamp(min=0))
        read = torch.cat(answers)
    else:
        both = nn.LSTM(6, 5, batch_first=True, bidirectional=True).double()
        parts = {f"{key}": one for key, one in found.onwards.state_dict().items()}
        parts |= {f"{key}_reverse": one for key, one in found.backwards.state_dict().items()}
        both.load_state_dict(parts)
        states = both(embedded[None])[0][0]
        read = states.max(0).values if found.config.combine == "max" else states.mean(0)
    logits: Tensor = found.classifier(read)
    return logits


@pytest.mark.parametrize("name", SMALL)
def test_a_batch_says_what_each_text_by_itself_would(name: str) -> None:
    found = network(name)
    whole = scores(found)
    for row, text in enumerate(TEXTS):
        torch.testing.assert_close(whole[row], by_hand(found, text), rtol=1e-9, atol=1e-9)
        alone = scores(found, texts=[text], width=max(1, len(text)))
        torch.testing.assert_close(whole[row], alone[0], rtol=1e-9, atol=1e-9)


def same_under_padding(found: Any) -> bool:
    return all(
        torch.allclose(scores(found), scores(found, **more), rtol=1e-9, atol=1e-9)
        for more in ({"width": 13}, {"padding": 11}, {"width": 9, "padding": 8})
    )


@pytest.mark.parametrize("name", SMALL)
def test_padding_does_not_count_however_much_and_whatever_it_is(name: str) -> None:
    found = network(name)
    assert same_under_padding(found)
    assert torch.equal(
        found(input_ids=torch.tensor([[3, 4, 5]])).logits,
        found(
            input_ids=torch.tensor([[3, 4, 5]]), attention_mask=torch.ones(1, 3, dtype=torch.long)
        ).logits,
    )
    gap = torch.tensor([[1, 0, 1]])
    with pytest.raises(InvalidArgument, match="padding on the right"):
        found(input_ids=torch.tensor([[3, 4, 5]]), attention_mask=gap)


def test_twins_in_which_padding_counts_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_width(_: Any, embedded: Tensor, lengths: Tensor) -> Tensor:
        return embedded.sum(1) / embedded.shape[1] + 0 * lengths[:, None]

    def all_windows(self: Any, embedded: Tensor, lengths: Tensor) -> Tensor:
        whole = torch.full_like(lengths, embedded.shape[1])
        return CnnForSequenceClassification.read(self, embedded, whole)

    def from_the_padding(self: Any, embedded: Tensor, lengths: Tensor) -> Tensor:
        ends = [self.onwards(embedded)[0], self.backwards(embedded.flip(1))[0].flip(1)]
        real = torch.arange(embedded.shape[1]) < lengths[:, None]
        return torch.cat(ends, 2).mul(real[..., None]).sum(1) / lengths[:, None]

    for name, twin in (("bag of words", by_width), ("bilstm", from_the_padding)):
        found = network(name)
        with monkeypatch.context() as changed:
            changed.setattr(type(found), "read", twin)
            assert not same_under_padding(found)

    class AllWindows(CnnForSequenceClassification):
        read = all_windows

    found = network("cnn")
    found.__class__ = AllWindows
    assert not same_under_padding(found)


@pytest.mark.parametrize("name", SMALL)
def test_gradients_are_those_of_a_loop_over_records(name: str) -> None:
    found = network(name)
    given, labels = batch(), torch.tensor([0, 1, 2, 0, 1, 1])

    def losses(under: Any, rows: Tensor) -> Tensor:
        logits = under(**{key: one[rows] for key, one in given.items()}).logits
        return record_losses(logits, labels[rows])

    assert compare_with_loop(found, losses, len(TEXTS)).worst <= 1e-8
    owner = torch.tensor([2, 0, 2, 0, 2, 1])
    assert compare_with_loop(found, losses, len(TEXTS), owner).worst <= 1e-8


@pytest.mark.usefixtures("compared_rows")
@pytest.mark.parametrize("name", SMALL)
def test_rows_are_apart_and_batch_statistics_are_refused(name: str) -> None:
    found: Any = built(name).network
    recording = Recording(found)
    for _ in range(4):  # more than the checks of the first batches
        losses = record_losses(found(**batch()).logits, torch.tensor([0, 1, 2, 0, 1, 1]))
        recording.backward(losses)
        recording.clear()
    recording.close()
    found.classifier = nn.Sequential(nn.BatchNorm1d(found.classifier.in_features), found.classifier)
    with pytest.raises(UnsupportedLayer, match="BatchNorm1d"):
        Recording(found)


@pytest.mark.usefixtures("compared_rows")
def test_a_network_that_subtracts_the_mean_of_the_batch_is_found_out() -> None:
    class Centered(BiLstmForSequenceClassification):
        def read(self, embedded: Tensor, lengths: Tensor) -> Tensor:
            found = super().read(embedded, lengths)
            return found - found.mean(0, keepdim=True)

    found: Any = built("bilstm").network
    found.__class__ = Centered
    recording = Recording(found)
    with pytest.raises(CoupledRows):
        recording.backward(record_losses(found(**batch()).logits, torch.arange(6) % 3))
    recording.close()


@pytest.mark.parametrize("name", SMALL)
def test_it_is_saved_and_comes_back(name: str, tmp_path: Path) -> None:
    model = built(name)
    save_model(model, tmp_path / "model")
    again = load_model(
        str(tmp_path / "model"), randomness=Randomness.reproducible(9), kind="classifier"
    )
    assert (again.classes, again.context, again.new) == (CLASSES, model.context, ())
    kept, loaded = model.network.state_dict(), again.network.state_dict()
    assert kept.keys() == loaded.keys()
    assert all(torch.equal(one, loaded[key]) for key, one in kept.items())
    torch.testing.assert_close(scores(again.network.eval()), scores(model.network.eval()))
    register_own()
    theirs = AutoModelForSequenceClassification.from_pretrained(tmp_path / "model")
    assert type(theirs) is type(model.network)
    assert kind_in(tmp_path / "model") == "classifier"


def test_none_of_them_is_a_language_model(tmp_path: Path) -> None:
    for name in ("bag-of-words", "cnn", "bilstm"):
        assert kind_of(name) == "classifier"
        with pytest.raises(InvalidArgument, match=r"predicts no words; .*`classes=\.\.\.`"):
            load_model(name, randomness=Randomness.reproducible(1))
    for settings in (BagOfWords(), Cnn(), BiLstm()):
        with pytest.raises(InvalidArgument, match="predicts no words"):
            settings.build(tokenizer(), None)
    save_model(built("cnn"), tmp_path / "model")
    with pytest.raises(InvalidArgument, match="predicts no words"):
        load_model(str(tmp_path / "model"), randomness=Randomness.reproducible(1))


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (BagOfWords, {"embedding": 0}),
        (BagOfWords, {"combine": "max"}),
        (Cnn, {"filters": 0}),
        (Cnn, {"widths": ()}),
        (Cnn, {"widths": (3, 3)}),
        (Cnn, {"widths": (3, 0)}),
        (BiLstm, {"hidden": 0}),
        (BiLstm, {"combine": "sum"}),
        (BiLstm, {"dropout": 1.5}),
    ],
)
def test_impossible_sizes_are_refused(kind: type[Any], settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=rf"{next(iter(settings))}\b"):
        kind(**settings)


def test_a_folder_with_a_setting_that_there_is_not_is_refused(tmp_path: Path) -> None:
    save_model(built("bag of words"), tmp_path / "model")
    config = tmp_path / "model" / "config.json"
    config.write_text(config.read_text().replace('"mean"', '"median"'))
    with pytest.raises((BadInput, InvalidArgument), match="median"):
        load_model(str(config.parent), randomness=Randomness.reproducible(1), kind="classifier")


def test_what_needs_layers_or_a_place_says_so() -> None:
    found: Any = built("cnn").network
    for part in ("head", "last:1"):
        with pytest.raises(InvalidArgument, match="no list of layers"):
            Trainable.read(part).freeze(found)
    with pytest.raises(InvalidArgument, match="nothing else can be put there"):
        load_model(
            "cnn",
            randomness=Randomness.reproducible(1),
            kind="classifier",
            classes=CLASSES,
            pooling="mean",
        )
