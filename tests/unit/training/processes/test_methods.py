"""Every method trains the same model on several processes as on one, and all have the same bits.

In double precision, with a seed, the only difference is the order in which sums are added up.
Von Mises–Fisher draws are made for all records of a physical batch together, so theirs are others
with another number of processes; ``statistical/test_processes`` looks at their law.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from sfumato.catalog import entries
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models.load import LoadedModel
from sfumato.policies.patterns import Digits
from sfumato.text.document import Document
from sfumato.training import features
from sfumato.training.clipping.clippers import choose_clipping
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from sfumato.training.methods.base import build_method
from sfumato.training.methods.promise import PolicyPromise
from sfumato.training.request import Request
from sfumato.training.settings import Course, Privacy
from teams import all_done, run_as_team
from unit.training.runs import SETTINGS, tokenizer

Weights = dict[str, Tensor]
CLOSE = 1e-12

OWN: dict[str, dict[str, object]] = {
    "gep": {"dimensions": 2, "anchors": 3},
    "rgp": {"rank": 1, "sigma": 1.0},
    "private": {"sigma": 1.0},
}


@pytest.fixture(autouse=True)
def double_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    load = Request.load

    def loaded(self: Request, randomness: Randomness) -> LoadedModel:
        model = load(self, randomness)
        model.network.double()
        return model

    monkeypatch.setattr(Request, "load", loaded)


def notes(count: int = 8) -> list[Document]:
    return [
        Document(
            f"note {number * 37} at all {'again ' * (number % 3)}",
            author="abc"[number % 3],
            labels=("yes" if number % 2 else "no", "big" if number % 3 else "small"),
        )
        for number in range(count)
    ]


def request(method: str = "private", **options: Any) -> Request:
    made = build_method(method, OWN.get(method, {}) | options.pop("own", {}))
    model = options.pop("model", "gpt-small" if method == "rgp" else "lstm")
    clipping = options.pop("clipping", "fixed")
    # Rényi divergences are quick; interleaved training has its own closed form.
    accountant = "pld" if method == "interleaved" else "rdp"
    privacy = Privacy(
        epsilon=8.0 if made.needs_level else math.inf,
        delta=0.01,
        epochs=options.pop("epochs", 1),
        batch_sizes=(3,),
        accountant=accountant,
        unit=options.pop("unit", "example"),
        sampling=options.pop("sampling", "auto"),
        clipping=choose_clipping(clipping, 1.0, (3,)),
    )
    return Request(
        model=model,
        settings=dict(SETTINGS.get(model, {})),
        tokenizer=tokenizer(),
        method=made,
        protection=PolicyPromise(Digits()) if made.needs_policy else None,
        privacy=privacy,
        course=options.pop("course", Course(optimizer="adam", learning_rate=0.01)),
        **({"seed": 3} | options),
    )


def trained(asked: Request, path: Path, documents: list[Document] | None = None) -> Weights:
    run = train_model(asked, documents or notes(), RunFolder(path))
    assert run.loaded is not None
    return {name: one.clone() for name, one in run.loaded.network.state_dict().items()}


def in_a_team(asked: Request, path: Path, size: int = 2) -> list[Weights]:
    return all_done(run_as_team(size, lambda _: trained(asked, path)))


def distance(ones: Weights, others: Weights) -> float:
    return max(float((ones[name] - others[name]).abs().max()) for name in ones)


def same_bits(members: list[Weights]) -> bool:
    first, *others = members
    return all(torch.equal(first[name], one[name]) for one in others for name in first)


def public_file(folder: Path) -> Path:
    path = folder / "public.txt"
    path.write_text("".join(f"a public text {number}\n" for number in range(5)))
    return path


@pytest.mark.parametrize("method", sorted({*entries("methods")} - {"federated"}))
def test_two_processes_train_the_model_of_one(method: str, tmp_path: Path) -> None:
    own = {"public": str(public_file(tmp_path))} if method == "gep" else {}
    asked = request(method, own=own)
    alone, together = trained(asked, tmp_path / "one"), in_a_team(asked, tmp_path / "two")
    assert same_bits(together)
    if method == "directional":
        return
    assert distance(alone, together[0]) <= CLOSE
    for name in ("ledger.jsonl", "guarantee.json", "config.json"):
        assert (tmp_path / "one" / name).read_text() == (tmp_path / "two" / name).read_text()


def test_a_federation_has_clients_of_its_own_and_is_refused(tmp_path: Path) -> None:
    asked = request("federated", unit="author")
    for refused in run_as_team(2, lambda _: trained(asked, tmp_path / "run")):
        assert isinstance(refused, InvalidArgument)
        assert "one process" in str(refused)
    assert not (tmp_path / "run" / "ledger.jsonl").exists()


LIKE: dict[str, Callable[[], Request]] = {
    "adaptive clipping": lambda: request(clipping="adaptive"),
    "authors": lambda: request(unit="author"),
    "shuffled": lambda: request(sampling="shuffled"),
    "low-rank factors": lambda: request(model="gpt-small", lora_rank=2),
    "a head on frozen layers": lambda: request(
        model="gpt-small", kind="classifier", classes=("no", "yes"), trainable="head"
    ),
    "groups": lambda: request(
        kind="classifier",
        model="gpt-small",
        classes=("no", "yes"),
        course=Course(group_weights=(("big", 1.0), ("small", 2.0))),
    ),
}


@pytest.mark.parametrize("case", LIKE)
def test_whatever_is_trained(case: str, tmp_path: Path) -> None:
    features._KEPT.clear()
    asked = LIKE[case]()
    alone, together = trained(asked, tmp_path / "one"), in_a_team(asked, tmp_path / "two", 3)
    assert same_bits(together)
    assert distance(alone, together[0]) <= CLOSE


@pytest.mark.parametrize("method", ["private", "selective", "rgp"])
def test_without_a_seed_all_have_the_same_weights(method: str, tmp_path: Path) -> None:
    assert same_bits(in_a_team(request(method, seed=None), tmp_path / "two"))


def test_shards_that_overlap_train_another_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A twin: every process takes the whole batch, so that each record counts twice."""
    asked = request()
    alone = trained(asked, tmp_path / "one")
    monkeypatch.setattr("sfumato.training.loop.own_batches", lambda _, batches: batches)
    together = in_a_team(asked, tmp_path / "two")
    assert same_bits(together)
    assert distance(alone, together[0]) > 1e-4


def test_a_run_goes_on_with_another_number_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sfumato.training import loop

    asked = request(epochs=2, course=Course(checkpoint_every=2))
    alone = trained(asked, tmp_path / "one")

    class Stopped(Exception):
        pass

    def stop_at(step: int) -> Callable[..., Any]:
        def one_step(run: Any, records: Any, batch: Any) -> Any:
            if batch.step == step:
                raise Stopped
            return taken(run, records, batch)

        return one_step

    taken = loop._one_step
    for size, step in ((2, 2), (1, 4)):
        monkeypatch.setattr(loop, "_one_step", stop_at(step))
        found = run_as_team(size, lambda _: resumed(asked, tmp_path / "two"))
        assert all(isinstance(one, Exception) for one in found)
    monkeypatch.setattr(loop, "_one_step", taken)
    together = all_done(run_as_team(3, lambda _: resumed(asked, tmp_path / "two")))
    assert same_bits(together)
    assert distance(alone, together[0]) <= CLOSE


def resumed(asked: Request, path: Path) -> Weights:
    run = train_model(asked, notes(), RunFolder(path), resume=True)
    assert run.loaded is not None
    return {name: one.clone() for name, one in run.loaded.network.state_dict().items()}
