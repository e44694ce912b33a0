"""A privatized file as a target: rebuilt from its side file, or the reason why not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sfumato.attacks.inference.observed import observe
from sfumato.attacks.text_target import Known, TextTarget, not_privatized, open_text, policy_of
from sfumato.core.errors import BadInput, InvalidArgument, MissingInput, SfumatoError
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.mechanisms.exponential import Exponential
from sfumato.releases.job import Job, run_job
from sfumato.releases.privatizer import Privatizer
from sfumato.text.document import Document
from sfumato.vectors.load import save_vectors
from sfumato.vectors.space import Space

TEXT = "The cat in Paris had 12 dogs.\nMail zoe@example.org, quark!\n\nROME 7 Atlantis\n"


@pytest.fixture
def folder(tmp_path: Path, small_space: Space) -> Path:
    save_vectors(small_space, tmp_path / "small.npy")
    (tmp_path / "in.txt").write_text(TEXT)
    return tmp_path


def released(folder: Path, **settings: Any) -> Path:
    """A file as ``sfumato privatize`` writes it."""
    given: dict[str, Any] = {
        "policy": "everything",
        "mechanism": "exponential",
        "epsilon": 3.0,
    } | settings
    if given["mechanism"] not in ("redact", "pseudonym"):
        given["vectors"] = str(folder / "small.npy")
    if "levels" in given:
        del given["policy"], given["epsilon"]
    target = folder / "out.txt"
    job = Job(source=Source.of(folder / "in.txt", Layout()), target=target, overwrite=True)
    run_job(job, Privatizer(**given))
    return target


def documents(path: Path) -> list[Document]:
    return list(Source.of(path, Layout()).documents())


def opened(folder: Path, path: Path, policy: str = "") -> TextTarget:
    known = Known(policy=policy, vectors=str(folder / "small.npy"))
    return open_text(path, documents(path), known)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"mechanism": "laplace", "policy": "digits"},
        {"mechanism": "truncated", "settings": {"gamma": 2.0}, "case": "restore"},
        {"mechanism": "sanitize-plus", "settings": {"p": 0.2, "sensitive_share": 0.5}},
        {"mechanism": "custom", "settings": {"size": 4}, "unknown": "keep"},
        {"mechanism": "vickrey", "policy": ["digits", "pii"]},
        {"levels": [(1.0, "digits"), (4.0, "everything")]},
    ],
)
def test_a_release_is_built_again(folder: Path, settings: dict[str, Any]) -> None:
    path = released(folder, **settings)
    target = opened(folder, path)
    seen, truth = observe(target, documents(folder / "in.txt"))
    assert target.selected == len(seen) + truth.kept
    assert not target.seeded
    stated = json.loads((folder / "out.txt.guarantee.json").read_bytes())["guarantee"]
    built = target.release.guarantee(truth.kept)
    assert built.as_dict()["epsilon"] == stated["epsilon"]
    assert built.as_dict()["notion"] == stated["notion"]
    assert (truth.kept > 0) == (settings.get("unknown") == "keep")


def test_levels_go_through_their_own_mechanism(folder: Path) -> None:
    path = released(folder, levels=[(1.0, "digits"), (4.0, "everything")])
    target = opened(folder, path)
    seen, truth = observe(target, documents(folder / "in.txt"))
    assert [one.guarantee().epsilon for one in seen.mechanisms] == [1.0, 4.0]
    words = [seen.space.words[one] for one in truth.originals[seen.ranks == 0]]
    assert words == ["12", "7"]
    with pytest.raises(InvalidArgument, match="for each level"):
        opened(folder, path, policy="digits")


def test_a_pattern_must_be_given_anew_and_be_the_same(folder: Path) -> None:
    path = released(folder, policy=r"regex:[A-Z]\w+")
    with pytest.raises(MissingInput, match="'policy': 'regex:PATTERN'"):
        opened(folder, path)
    seen, _ = observe(opened(folder, path, r"regex:[A-Z]\w+"), documents(folder / "in.txt"))
    assert len(seen) == 5
    with pytest.raises(BadInput, match=r"selects 2 words .* 5 were privatized"):
        observe(opened(folder, path, "digits"), documents(folder / "in.txt"))


def test_a_seed_is_noticed(folder: Path) -> None:
    assert opened(folder, released(folder, seed=4)).seeded


def test_vectors_must_be_the_same(folder: Path, random_space: Space) -> None:
    path = released(folder)
    with pytest.raises(MissingInput, match="'vectors': FILE"):
        open_text(path, documents(path), Known())
    save_vectors(random_space, folder / "other.npy")
    with pytest.raises(BadInput, match="'small', not over 'other'"):
        open_text(path, documents(path), Known(vectors=str(folder / "other.npy")))


def test_what_cannot_be_attacked_says_what_could(folder: Path) -> None:
    path = released(folder, mechanism="redact", epsilon=None, policy="digits")
    with pytest.raises(MissingInput, match=r"'redact'.*'context-inference' and 'matching'"):
        opened(folder, path)
    assert "is a folder" in str(not_privatized(folder))
    assert "there is no file" in str(not_privatized(folder / "nowhere.txt"))
    assert "guarantee.json is missing" in str(not_privatized(folder / "in.txt"))
    assert not_privatized(path) is None
    (folder / "out.txt.guarantee.json").write_text('{"settings": 3}')
    with pytest.raises(BadInput, match="not the side file"):
        opened(folder, path)


def test_settings_that_are_not_written_down_are_noticed(folder: Path, small_space: Space) -> None:
    """Words named as sensitive are not in the side file: the rows would be others."""
    settings = {"sensitive_share": 0.5, "sensitive": ("paris", "rome")}
    path = released(folder, mechanism="sanitize-plus", settings=settings)
    with pytest.raises(MissingInput, match="what is not covered"):
        opened(folder, path)
    side = folder / "out.txt.guarantee.json"
    content = json.loads(side.read_bytes())
    content["settings"]["mechanism"] = "thirdparty"
    side.write_text(json.dumps(content))
    with pytest.raises(MissingInput, match="not in the catalog"):
        opened(folder, path)
    assert Exponential(space=small_space, epsilon=1).guarantee().uncovered == ()


def test_nothing_to_infer_is_said(folder: Path) -> None:
    path = released(folder, policy="regex:nowhere")
    with pytest.raises(BadInput, match="selects no word"):
        observe(opened(folder, path, "regex:nowhere"), documents(folder / "in.txt"))
    path = released(folder, policy="regex:Atlantis", unknown="keep")
    with pytest.raises(BadInput, match=r"all 1 selected words .* in the clear"):
        observe(opened(folder, path, "regex:Atlantis"), documents(folder / "in.txt"))


@pytest.mark.parametrize("spec", ["digits − everything − pii", "regex", "lexicon", "wrong"])
def test_policies_that_are_none(spec: str) -> None:
    with pytest.raises(SfumatoError):
        policy_of(spec)


def test_policies_as_they_are_shown() -> None:
    for name in ("pii", "digits + pii", "(digits + pii) − everything", "pii − digits"):
        assert policy_of(name).name == name
    assert policy_of("pii - digits").name == "pii − digits"


@pytest.mark.parametrize(
    ("mechanism", "why"),
    [("auto", "each type by a mechanism of its own"), ("redact", "as a whole")],
)
def test_what_replaces_no_words_says_so_and_why(folder: Path, mechanism: str, why: str) -> None:
    level = 1 if mechanism == "auto" else None
    path = released(folder, mechanism=mechanism, epsilon=level)
    with pytest.raises(MissingInput, match=why) as caught:
        opened(folder, path)
    assert "mask" not in str(caught.value)
