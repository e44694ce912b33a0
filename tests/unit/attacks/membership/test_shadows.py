"""Shadows: trained as the target was, on halves that are kept; a kill costs nothing but time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.attacks.membership.evidence import OtherModels
from sfumato.attacks.membership.gathering import measure_target
from sfumato.attacks.membership.shadows import UNSEEDED, draw_halves, recipe_of, shadow_models
from sfumato.attacks.token_scores import ScoreStore
from sfumato.core.errors import BadInput, InvalidArgument, StorageFailed
from sfumato.core.randomness import Randomness
from sfumato.training import execution
from sfumato.training.folder import RunFolder
from sfumato.training.settings import Course
from unit.attacks.membership.small import World, documents, made_up, request, tokenizer

TEXTS = made_up(10, 31)
RECIPE = replace(request(epochs=12), course=Course(learning_rate=3e-2, checkpoint_every=3))


class Killed(BaseException):
    """Stands for a signal that nobody can catch."""


def shadowed(
    folder: Path, texts: list[str] = TEXTS, *, count: int = 2, seed: int | None = 7
) -> OtherModels:
    some = documents(texts)
    randomness = Randomness.secure() if seed is None else Randomness.reproducible(seed)
    return shadow_models(
        RECIPE,
        some,
        count,
        folder,
        lambda model: measure_target(model, some, ScoreStore()),
        randomness,
    )


def test_every_candidate_is_in_half_of_the_shadows() -> None:
    halves = draw_halves(11, 8, Randomness.secure())
    assert halves.inside.shape == (8, 11)
    assert (halves.inside.sum(axis=0) == 4).all()
    assert (halves.inside.sum(axis=1)[::2] == 5).all()
    assert (halves.seeds == UNSEEDED).all()
    assert len({row.tobytes() for row in halves.inside}) > 2
    assert (draw_halves(11, 8, Randomness.reproducible(1)).seeds >= 0).all()


@pytest.mark.parametrize("count", [0, 1, 3])
def test_halves_come_in_pairs(count: int) -> None:
    with pytest.raises(InvalidArgument, match="shadows="):
        draw_halves(10, count, Randomness.secure())
    with pytest.raises(BadInput, match="too few"):
        draw_halves(3, 2, Randomness.secure())


def test_the_recipe_is_that_of_the_run_without_noise(world: World) -> None:
    settings = RunFolder(world.run).settings()
    found = recipe_of(settings, tokenizer())
    assert found.model == "lstm"
    assert found.course == request().course
    assert found.privacy.epsilon == np.inf
    assert found.privacy.batch_sizes == (26,)
    assert found.privacy.epochs == pytest.approx(60, rel=0.02)
    model = found.load(Randomness.secure())
    assert (model.context, model.tokenizer.size) == (32, tokenizer().size)
    assert model.network.config.hidden_size == 32
    with pytest.raises(BadInput, match="does not say how"):
        recipe_of({"model": "lstm"}, tokenizer())
    # What is trained, and what a head reads, are the target's, too.
    classes = {"kind": "classifier", "classes": ["0", "1"], "trainable": "head", "pooling": "mean"}
    head = recipe_of(settings | classes, tokenizer())
    assert (head.trainable, head.pooling) == ("head", "mean")
    assert (found.trainable, found.pooling) == (None, None)


def test_a_killed_attack_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And ends where it would have ended: shadows that were finished are not touched."""
    whole = shadowed(tmp_path / "whole", count=4)
    honest, calls = execution.train_model, list[tuple[str, bool]]()

    def watched(asked: Any, some: Any, folder: RunFolder, *, resume: bool = False) -> Any:
        calls.append((folder.path.name, resume))
        if len(calls) != 3:
            return honest(asked, some, folder, resume=resume)

        def stop(now: Any) -> None:
            # Behind a checkpoint, so that the training goes on in its middle.
            if now.step == 8:
                raise Killed

        return honest(asked, some, folder, resume=resume, announce=lambda *_: stop)

    monkeypatch.setattr(execution, "train_model", watched)
    with pytest.raises(Killed):
        shadowed(tmp_path / "killed", count=4)
    # Another seed, or none, must not matter: the halves and seeds were kept.
    again = shadowed(tmp_path / "killed", count=4, seed=None)
    assert calls == [
        ("shadow-000", False),
        ("shadow-001", False),
        ("shadow-002", False),
        ("shadow-002", True),
        ("shadow-003", False),
    ]
    assert np.array_equal(whole.inside, again.inside)
    np.testing.assert_allclose(whole.losses, again.losses, rtol=1e-6)
    calls.clear()
    shadowed(tmp_path / "killed", count=4)
    assert not calls


def test_a_shadow_knows_its_half_better(tmp_path: Path) -> None:
    found = shadowed(tmp_path)
    for losses, inside in zip(found.losses, found.inside, strict=True):
        assert losses[inside].mean() < losses[~inside].mean()


def test_other_candidates_have_shadows_of_their_own_and_no_name_tells_a_text(
    tmp_path: Path,
) -> None:
    shadowed(tmp_path)
    shadowed(tmp_path, made_up(10, 32))
    folder = tmp_path / "shadows"
    assert folder.stat().st_mode & 0o077 == 0
    assert len([one for one in folder.iterdir() if one.is_dir()]) == 2
    shared = TEXTS[0].encode()
    assert not any(shared in path.read_bytes() for path in folder.rglob("*") if path.is_file())
    # Under another key the same texts have another name: nobody can try a guess.
    (folder / "key").write_text("0" * 64)
    shadowed(tmp_path)
    assert len([one for one in folder.iterdir() if one.is_dir()]) == 3


def test_damaged_halves_are_refused(tmp_path: Path) -> None:
    shadowed(tmp_path)
    (path,) = tmp_path.rglob("halves.npz")
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(StorageFailed, match="damaged"):
        shadowed(tmp_path)
