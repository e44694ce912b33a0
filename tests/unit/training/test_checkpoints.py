"""A checkpoint comes back exactly, for the run it belongs to, or says why not."""

from __future__ import annotations

import errno
import math
import pickle
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from sfumato.core.errors import CannotResume, StorageFailed
from sfumato.core.randomness import Randomness
from sfumato.models.load import LoadedModel
from sfumato.models.lora import Lora
from sfumato.training import checkpoints, optimizers
from sfumato.training.checkpoints import SCHEMA, Checkpoint
from sfumato.training.optimizers import make_optimizer
from unit.training.runs import content_of, same, small_model, weights, write_checkpoint


def stepped(model: LoadedModel, name: str = "adam", steps: int = 2) -> torch.optim.Optimizer:
    """An optimizer with a past."""
    optimizer = make_optimizer(name, model.network.parameters(), 0.1)
    draw = torch.Generator().manual_seed(3)
    for _ in range(steps):
        for one in model.network.parameters():
            one.grad = torch.randn(one.shape, generator=draw).to(one) if one.requires_grad else None
        optimizer.step()
    return optimizer


def adapted(seed: int) -> LoadedModel:
    model = small_model("gpt-small", seed=seed)
    network: Any = Lora(rank=2).attach(model.network, Randomness.reproducible(seed))
    return LoadedModel(network, model.tokenizer, model.context)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    model = small_model()
    path = tmp_path / "checkpoint.pt"
    Checkpoint.of(2, model.network, stepped(model), 0.25).save(path)
    return path


@pytest.mark.parametrize("name", ["sgd", "adam", "adam-bc"])
def test_what_is_saved_comes_back(tmp_path: Path, name: str) -> None:
    model = small_model()
    optimizer = stepped(model, name)
    Checkpoint.of(2, model.network, optimizer, 0.25).save(tmp_path / "here.pt")
    assert [one.name for one in tmp_path.iterdir()] == ["here.pt"]
    again = small_model(seed=9)
    other = make_optimizer(name, again.network.parameters(), 0.1)
    found = Checkpoint.load(tmp_path / "here.pt")
    assert (found.steps, found.clip_norm) == (2, 0.25)
    found.restore(again.network, other)
    assert same(weights(model), weights(again))
    # The next step is the same, so the optimizer remembers everything that matters.
    for one in (*model.network.parameters(), *again.network.parameters()):
        one.grad = torch.ones_like(one)
    optimizer.step()
    other.step()
    assert same(weights(model), weights(again))


def test_a_frozen_base_with_fresh_weights_comes_back_with_the_factors(tmp_path: Path) -> None:
    model = adapted(seed=1)
    optimizer = stepped(model)
    Checkpoint.of(2, model.network, optimizer, 1.0).save(tmp_path / "here.pt")
    again = adapted(seed=2)
    assert not same(weights(model), weights(again))
    kept = Checkpoint.load(tmp_path / "here.pt")
    kept.restore(again.network, make_optimizer("adam", again.network.parameters(), 0.1))
    assert same(weights(model), weights(again))


def test_the_checkpoint_of_another_model_is_refused_and_changes_nothing(saved: Path) -> None:
    for other in (
        small_model(settings={"hidden": 5}),
        small_model("gpt-small"),
        adapted(seed=1),
    ):
        before = weights(other)
        optimizer = make_optimizer("adam", other.network.parameters(), 0.1)
        with pytest.raises(CannotResume, match="another model"):
            Checkpoint.load(saved).restore(other.network, optimizer)
        assert same(before, weights(other))
    tied = small_model(settings={"tied": True})
    with pytest.raises(CannotResume, match="another optimizer"):  # with fewer weights to train
        Checkpoint.load(saved).restore(tied.network, stepped(tied))
    doubled = small_model()
    doubled.network.double()
    with pytest.raises(CannotResume, match="another model"):
        Checkpoint.load(saved).restore(doubled.network, stepped(doubled))


def test_the_checkpoint_of_another_optimizer_is_refused_and_changes_nothing(saved: Path) -> None:
    model = small_model(seed=4)
    before = weights(model)
    some = list(model.network.parameters())[:-1]
    for other in (
        make_optimizer("sgd", model.network.parameters(), 0.1),
        make_optimizer("adam-bc", model.network.parameters(), 0.1),
        make_optimizer("adam", some, 0.1),
    ):
        with pytest.raises(CannotResume, match="another optimizer"):
            Checkpoint.load(saved).restore(model.network, other)
        assert same(before, weights(model))


def test_damaged_files_are_refused(saved: Path) -> None:
    content = saved.read_bytes()
    for damaged in (b"", content[: len(content) // 2], b"no archive at all", content[:-30]):
        saved.write_bytes(damaged)
        with pytest.raises(CannotResume, match=r"checkpoint\.pt cannot be read .* whole copy"):
            Checkpoint.load(saved)
    saved.unlink()
    with pytest.raises(CannotResume, match="FileNotFoundError"):
        Checkpoint.load(saved)


@pytest.mark.parametrize(
    "change",
    [
        {"steps": "many"},
        {"steps": -1},
        {"weights": 3},
        {"optimizer": [1]},
        {"clip_norm": None},
        {"clip_norm": -1.0},
        {"clip_norm": math.nan},
        {"between": None},
    ],
    ids=str,
)
def test_other_content_is_refused(saved: Path, change: dict[str, Any]) -> None:
    write_checkpoint(saved, content_of(saved) | change)
    with pytest.raises(CannotResume, match="cannot be read"):
        Checkpoint.load(saved)
    write_checkpoint(saved, [1, 2])
    with pytest.raises(CannotResume, match="cannot be read"):
        Checkpoint.load(saved)


@pytest.mark.parametrize("version", [SCHEMA - 1, SCHEMA + 1])
def test_a_checkpoint_of_another_version_is_refused(
    saved: Path, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = content_of(saved)
    assert SCHEMA == 3  # to be raised with every change of the keys
    keys = {"schema", "steps", "weights", "optimizer", "kind", "clip_norm", "between"}
    assert set(content) == keys
    with monkeypatch.context() as other:
        other.setattr(checkpoints, "SCHEMA", version)
        write_checkpoint(saved, content)
    with pytest.raises(CannotResume, match="another version of sfumato"):
        Checkpoint.load(saved)
    torch.save(content, saved)  # as the first version did
    with pytest.raises(CannotResume, match="no checkpoint"):
        Checkpoint.load(saved)


# --- damage --------------------------------------------------------------------------------------


def accepted(path: Path, contents: Iterable[bytes]) -> int:
    """How many of these are taken for a checkpoint."""
    count = 0
    for content in contents:
        path.write_bytes(content)
        try:
            Checkpoint.load(path)
        except CannotResume:
            continue
        count += 1
    return count


def flipped(content: bytes) -> Iterator[bytes]:
    """The same but for one bit: everywhere in the head, and here and there in the rest."""
    for place in (*range(0, 130, 3), *range(130, len(content), 499), len(content) - 1):
        yield content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :]


def test_one_bit_that_is_not_as_it_was_is_noticed(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = saved.read_bytes()
    assert accepted(saved, [content]) == 1
    assert accepted(saved, flipped(content)) == 0
    assert accepted(saved, [content + b"\0", content[:-1], content * 2]) == 0

    # The twin trusts what it reads: other weights look like any weights.
    def trusting(stream: Any) -> str:
        stream.readline()
        return ""

    monkeypatch.setattr(checkpoints, "_damage", trusting)
    assert accepted(saved, flipped(content)) > 10


def broken(state: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The state of an optimizer, spoiled in one way after the other."""
    kept, groups = state["state"], state["param_groups"]
    first = kept[0]
    for change in (
        {},
        {"exp_avg": torch.ones(3)},
        {"exp_avg": 3},
        {"exp_avg": first["exp_avg"].to(torch.int64)},
        {"step": torch.ones(2)},
        {"step": "many"},
        {"step": -1},
        {"step": math.nan},
        {"other": 1.0},
    ):
        yield state | {"state": kept | {0: first | change if change else {}}}
    yield state | {"state": {0: 3}}
    yield state | {"state": {99: first}}
    yield state | {"state": {"one": first}}
    yield state | {"state": []}
    yield state | {"param_groups": 3}
    yield state | {"param_groups": [3]}
    yield state | {"param_groups": []}
    yield state | {"param_groups": [groups[0] | {"betas": "both"}]}
    yield state | {"param_groups": [groups[0] | {"params": [0]}]}
    yield {}


def test_junk_in_place_of_an_optimizers_state_is_refused_and_changes_nothing(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = small_model(seed=4)
    before, optimizer = weights(model), stepped(small_model())
    content = content_of(saved)
    for junk in broken(content["optimizer"]):
        write_checkpoint(saved, content | {"optimizer": junk})
        with pytest.raises(CannotResume, match="another optimizer"):
            Checkpoint.load(saved).restore(model.network, optimizer)
    write_checkpoint(saved, content | {"weights": content["weights"] | {"lstm.bias_hh_l0": 3}})
    with pytest.raises(CannotResume, match="another model"):
        Checkpoint.load(saved).restore(model.network, optimizer)
    assert same(before, weights(model))
    # The twin counts parameters, as if that were all; the next step is an error nobody foresaw.
    monkeypatch.setattr(optimizers, "_fits", lambda *_: True)
    write_checkpoint(saved, content | {"optimizer": list(broken(content["optimizer"]))[1]})
    other = stepped(model, steps=0)
    Checkpoint.load(saved).restore(model.network, other)
    for one in model.network.parameters():
        one.grad = torch.ones_like(one)
    with pytest.raises(RuntimeError, match="size"):
        other.step()


class Malice:
    """What would be run if a checkpoint were unpickled like any other file."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return exec, ("raise SystemExit('a checkpoint ran code')",)


def test_a_checkpoint_runs_no_code(saved: Path) -> None:
    write_checkpoint(saved, {"steps": Malice()})
    with pytest.raises(CannotResume, match="UnpicklingError"):
        Checkpoint.load(saved)
    saved.write_bytes(pickle.dumps(Malice(), protocol=2))
    with pytest.raises(CannotResume):
        Checkpoint.load(saved)


def test_a_full_disk_leaves_the_checkpoint_before(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, model = saved.read_bytes(), small_model()

    def full(content: Any, stream: Any) -> None:
        stream.write(b"half of it")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(StorageFailed, match="No space left on device; the one before is kept"):
        Checkpoint.of(3, model.network, stepped(model), 1.0).save(saved)
    assert saved.read_bytes() == before
    assert [one.name for one in saved.parent.iterdir()] == [saved.name]
