"""GEP is DP-SGD in a basis of public gradients: same plan, and nothing private in the basis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.text.document import Document
from sfumato.training import loop
from sfumato.training.clipping.clippers import Clipping
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from sfumato.training.methods import anchors, gep
from sfumato.training.methods.anchors import label_in_turn, main_directions, read_public
from sfumato.training.methods.base import build_method
from sfumato.training.methods.gep import Gep
from sfumato.training.methods.private import Private
from sfumato.training.request import Request
from sfumato.training.run import Run
from sfumato.training.settings import Course, Privacy
from unit.training.runs import (
    SETTINGS,
    Killed,
    same,
    small_model,
    some_documents,
    tokenizer,
    weights,
)


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("public") / "public.txt"
    path.write_text("A public text.\n\nAll about nothing.\nA text at all.\nNothing is public.\n")
    return path


def request(public: Path, method: Private | None = None, **changes: Any) -> Request:
    """Four tiny steps."""
    asked: dict[str, Any] = {
        "model": "lstm",
        "settings": SETTINGS["lstm"],
        "tokenizer": tokenizer(),
        "privacy": Privacy(epsilon=8.0, delta=1e-2, epochs=2, batch_sizes=(3,), accountant="rdp"),
        "method": method or Gep(public=str(public), dimensions=2, anchors=3),
        "course": Course(checkpoint_every=2),
        "seed": 1,
    }
    return Request(**(asked | changes))


def trained(folder: Path, asked: Request, **options: Any) -> Run:
    return train_model(asked, some_documents(), RunFolder(folder), **options)


def killed_after(step: int) -> Callable[..., Callable[[loop.Progress], None]]:
    def watch(now: loop.Progress) -> None:
        if now.step == step:
            raise Killed

    return lambda *_: watch


def test_plan_and_guarantee_are_those_of_dp_sgd_and_a_killed_run_goes_on(
    public: Path, tmp_path: Path
) -> None:
    run = trained(tmp_path / "a", request(public))
    plan = request(public, Private()).privacy.plan(len(some_documents()))
    assert (run.plan, run.guarantee) == (plan, plan.guarantee().reproducible())
    assert run.files.settings()["method_settings"]["dimensions"] == 2
    with pytest.raises(Killed):
        trained(tmp_path / "b", request(public), announce=killed_after(3))
    resumed = trained(tmp_path / "b", request(public), resume=True)
    assert same(weights(resumed.model), weights(run.model))


def drowned(public: Path, documents: Sequence[Document]) -> dict[str, Tensor]:
    """The weights after steps with so much noise that no record shows."""
    asked = request(
        public,
        Gep(public=str(public), dimensions=2, anchors=3, sigma=1e20),
        privacy=replace(request(public).privacy, epsilon=float("inf")),
        course=Course(optimizer="sgd", learning_rate=1e-21),
    )
    model = small_model()
    prepared = asked.method.prepare(asked.task(model, documents))
    prepared.fit(Randomness.reproducible(3), None, None)  # type: ignore[arg-type]
    return weights(model)


@pytest.mark.parametrize("private", [False, True])
def test_the_basis_is_one_of_public_text(
    private: bool, public: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two corpora give the same bits; with a basis of private text (a twin) they do not."""
    if private:
        monkeypatch.setattr(anchors, "read_public", lambda _, __, documents: list(documents))
    documents = some_documents()
    other = [replace(one, text=one.text[::-1]) for one in documents]
    first, second = drowned(public, documents), drowned(public, other)
    assert same(first, second) != private
    assert not same(first, weights(small_model()))


def test_main_directions_are_the_first_singular_vectors() -> None:
    chance = torch.Generator().manual_seed(0)
    gradients = [
        {"a": torch.randn(3, 4, generator=chance), "b": torch.randn(5, generator=chance)}
        for _ in range(6)
    ]
    found = main_directions(gradients, 2)
    assert found["a"].shape == (2, 3, 4)
    rows = torch.cat([found["a"].flatten(1), found["b"]], 1)
    torch.testing.assert_close(rows @ rows.t(), torch.eye(2))
    whole = torch.stack([torch.cat([one["a"].flatten(), one["b"]]) for one in gradients])
    first = torch.linalg.svd(whole)[2][:2]
    torch.testing.assert_close(rows.t() @ rows, first.t() @ first, atol=1e-5, rtol=1e-4)
    # Fewer directions than were asked for, none, and none that are numbers.
    alike = main_directions(gradients[:1] * 3, 5)
    assert [round(float(alike["a"][one].norm() + alike["b"][one].norm()), 3) > 0
            for one in range(5)] == [True, False, False, False, False]  # fmt: skip
    for gone in (0.0, float("nan")):
        nothing = main_directions([{"a": torch.full((2,), gone)}] * 2, 1)
        assert torch.equal(nothing["a"], torch.zeros(1, 2))


def test_private_text_is_no_public_text(tmp_path: Path) -> None:
    private = [Document("A sentence that is long enough to be told from others."), Document("No.")]
    for text, problem in (
        (f"Something else.\n {private[0].text}\n", "document 2"),
        ("No.\n\n", "has the documents"),
    ):
        path = tmp_path / "public.txt"
        path.write_text(text)
        with pytest.raises(InvalidArgument, match=problem) as told:
            read_public(str(path), "text", private)
        assert "sentence" not in str(told.value)
    path.write_text("\n")
    with pytest.raises(BadInput, match="no text"):
        read_public(str(path), "text", private)
    path.write_text("One.\nTwo.\nThree.\n")
    labeled = label_in_turn(read_public(str(path), "text", private), ("x", "y"))
    assert [one.labels for one in labeled] == [("x",), ("y",), ("x",)]


def test_what_does_not_fit_is_refused(public: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidArgument, match="setting public"):
        request(public, Gep())
    with pytest.raises(InvalidArgument, match="adam-bc"):
        request(public, course=Course(optimizer="adam-bc"))
    automatic = replace(request(public).privacy, clipping=Clipping(kind="automatic"))
    with pytest.raises(InvalidArgument, match="two parts"):
        request(public, privacy=automatic)
    for wrong in ({"dimensions": "0"}, {"dimensions": "40"}, {"residual": "0"}):
        with pytest.raises(InvalidArgument, match=r"anchors|dimensions|residual"):
            build_method("gep", wrong)
    monkeypatch.setattr(gep, "MOST", 100)
    asked = request(public)
    with pytest.raises(InvalidArgument, match="dimensions=2"):
        asked.method.prepare(asked.task(small_model(), some_documents()))
