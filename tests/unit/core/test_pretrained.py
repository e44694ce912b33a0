"""No folder of a model has code run, whatever is in it and whoever says yes."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers", reason="SKIPPED WITHOUT TRANSFORMERS: no model was loaded")

from sfumato.attacks.inference.attackers import MaskedModel
from sfumato.attacks.membership.neighbors import load_masked
from sfumato.core import pretrained
from sfumato.core.errors import BadInput
from sfumato.core.pretrained import read_network
from sfumato.core.randomness import Randomness
from sfumato.metrics.similarity import mean_pooled
from sfumato.models.load import load_model
from sfumato.models.tokenizer import load_tokenizer
from unit.models import hostile


def _model(folder: Path, kind: str = "causal") -> Any:
    classes = ("no", "yes") if kind == "classifier" else ()
    return load_model(str(folder), randomness=Randomness.secure(), kind=kind, classes=classes)


LOADERS: dict[str, Callable[[Path], Any]] = {
    "a language model": _model,
    "a classifier": lambda folder: _model(folder, "classifier"),
    "a tokenizer": load_tokenizer,
    "a masked model, for words": MaskedModel.load,
    "a masked model, for neighbors": load_masked,
    "an encoder": mean_pooled,
}
# Weights and the way to compute with them are no concern of a tokenizer's.
NOT_READ = {("a tokenizer", "pickled_weights")}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("harmless")
    return {
        "masked": hostile.harmless(folder / "masked"),
        "causal": hostile.harmless_causal(folder / "causal"),
    }


@pytest.fixture
def yes(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Somebody who says yes to everything."""
    stdin = io.StringIO("y\n" * 50)
    monkeypatch.setattr(sys, "stdin", stdin)
    return stdin


@pytest.mark.parametrize("how", hostile.HOSTILE)
def test_a_hostile_folder_is_refused_and_nobody_is_asked(
    models: dict[str, Path], tmp_path: Path, yes: io.StringIO, how: str
) -> None:
    for number, (what, load) in enumerate(LOADERS.items()):
        kind = "causal" if what == "a language model" else "masked"
        folder = tmp_path / str(number) / "model"
        shutil.copytree(models[kind], folder)
        marker = hostile.made_hostile(folder, how)
        if (what, how) not in NOT_READ:
            with pytest.raises(BadInput, match=r"is refused: |only weights in safetensors"):
                load(folder)
        assert not marker.exists(), what
        assert yes.tell() == 0, what


def test_what_is_harmless_loads(models: dict[str, Path], tmp_path: Path) -> None:
    for what, load in LOADERS.items():
        folder = models["causal" if what == "a language model" else "masked"]
        assert load(folder) is not None, what


def test_code_that_nothing_names_may_lie_beside(models: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(models["causal"], folder)
    (folder / "modeling.py").write_text(f"open({str(tmp_path / 'was-run')!r}, 'w')")
    _model(folder)
    assert not (tmp_path / "was-run").exists()


def test_the_folder_does_not_choose_how_attention_is_computed(
    models: dict[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(models["causal"], folder)
    usual, _ = read_network("AutoModelForCausalLM", folder, "a model")
    for key in ("_attn_implementation", "attn_implementation"):
        hostile.changed(folder / "config.json", **{key: "eager"})
        network, _ = read_network("AutoModelForCausalLM", folder, "a model")
        assert network.config._attn_implementation == usual.config._attn_implementation == "sdpa"


def test_links_of_the_hubs_cache_are_followed(models: dict[str, Path], tmp_path: Path) -> None:
    cache = tmp_path / "models--somebody--tiny"
    folder = cache / "snapshots" / ("1" * 40)
    folder.mkdir(parents=True)
    shutil.copytree(models["causal"], cache / "blobs")
    for file in (cache / "blobs").iterdir():
        (folder / file.name).symlink_to(Path("..") / ".." / "blobs" / file.name)
    assert _model(folder).context == 32


def test_twin_the_librarys_own_way_asks_and_runs_the_code(
    models: dict[str, Path], tmp_path: Path, yes: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import AutoConfig

    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "m"))
    folder = tmp_path / "model"
    shutil.copytree(models["masked"], folder)
    marker = hostile.made_hostile(folder, "unknown_kind_of_model")
    with pytest.raises(AttributeError):  # there is no such class in the module, which has run
        AutoConfig.from_pretrained(folder, local_files_only=True)
    assert marker.exists()
    assert yes.tell() > 0


@pytest.mark.parametrize("how", ["custom_generation", "link_out", "code_in_config"])
def test_twin_without_looking_first_a_hostile_folder_is_taken(
    models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(models["masked"], folder)
    hostile.made_hostile(folder, how)
    with pytest.raises(BadInput, match="is refused"):
        load_masked(folder)
    monkeypatch.setattr(pretrained, "_refuse_code", lambda _: None)
    assert load_masked(folder) is not None
