"""A study keeps to its folder: what lies outside is refused unless its user allows it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from sfumato.catalog import entries
from sfumato.cli.main import main
from sfumato.core.errors import InvalidArgument, OutputExists, SfumatoError
from sfumato.core.settings import purposes
from sfumato.studies.doors import INSIDE, OUTSIDE, Doors
from sfumato.studies.grid import list_cells
from sfumato.studies.parsing import read_spec
from sfumato.studies.resolve import Model
from sfumato.studies.runner import passages, run_study
from sfumato.studies.spec import CanarySettings, CorpusSettings
from sfumato.training.settings import GENERAL, Training

CORPUS = '[corpus]\nkind = "customersim"\ncount = 3\n'
METHOD = '[[methods]]\nname = "m"\nmechanism = "redact"\npolicy = "digits"\n'
TEXT = "[measures.text]\n"
# Every setting of a study that is a path, with PATH where it stands.
NAMED = {
    "corpus": '[corpus]\npath = "PATH"\npublic = true\n' + METHOD,
    "private corpus": '[corpus]\npath = "PATH"\n' + METHOD,
    "wikitext": '[corpus]\nkind = "wikitext"\npath = "PATH"\n' + METHOD,
    "test": CORPUS + '[test]\npath = "PATH"\npublic = true\n' + METHOD,
    "others": CORPUS + '[others]\npath = "PATH"\npublic = true\n' + METHOD,
    "manifest": CORPUS + '[canaries]\nmanifest = "PATH"\n' + METHOD,
    "vectors": CORPUS + METHOD.replace("redact", "laplace") + 'epsilon = 1\nvectors = "PATH"\n',
    "a grid of vectors": (
        CORPUS + METHOD.replace("redact", "laplace") + 'epsilon = 1\nvectors = ["PATH"]\n'
    ),
    "key": CORPUS + METHOD.replace("redact", "pseudonym") + 'settings = {key_file = "PATH"}\n',
    "word list": CORPUS + METHOD.replace("digits", "lexicon:PATH"),
    "word list, held": CORPUS + METHOD.replace("digits", "imperfect:lexicon:PATH"),
    "word list, excepted": CORPUS + METHOD + 'except = "lexicon:PATH"\n',
    "word list, set": (
        CORPUS
        + METHOD.replace("digits", "mine")
        + '[policies.mine]\nfind = "lexicon"\nsettings = {"lexicon.path" = "PATH"}\n'
    ),
    "cache": (
        CORPUS
        + METHOD.replace("digits", "mine")
        + '[policies.mine]\nfind = "entities"\nsettings = {"entities.cache" = "PATH"}\n'
    ),
    "pipeline": (
        CORPUS
        + METHOD.replace("digits", "mine")
        + '[policies.mine]\nfind = "contextual"\nsettings = {"contextual.model" = "PATH"}\n'
    ),
    "a policy that no method has": (CORPUS + METHOD + '[policies.mine]\nfind = "lexicon:PATH"\n'),
    "model": CORPUS + '[model]\nname = "PATH"\n',
    "tokenizer": CORPUS + '[model]\nname = "lstm"\ntokenizer = "PATH"\n',
    "public text of a method": (
        CORPUS
        + '[model]\nname = "lstm"\n[[methods]]\nname = "m"\ntraining = "gep"\nepsilon = 8\n'
        + 'public = "PATH"\n'
    ),
    "masked model": (
        CORPUS + '[model]\nname = "lstm"\n[attacks.membership]\nmasked_model = "PATH"\n'
    ),
    "corpus of an attack": CORPUS + METHOD + '[attacks.token-inference]\ncorpus = "PATH"\n',
    "vectors of an attack": CORPUS + METHOD + '[attacks.token-inference]\nvectors = "PATH"\n',
    "model of an attack": CORPUS + METHOD + '[attacks.token-inference]\nmodel = "PATH"\n',
    "policy of an attack": (
        CORPUS + METHOD + '[attacks.token-inference]\npolicy = "digits + lexicon:PATH"\n'
    ),
    "policy of a measure": (
        CORPUS
        + '[test]\nkind = "customersim"\ncount = 3\n[model]\nname = "lstm"\n'
        + '[measures.perplexity]\npolicy = ["digits", "lexicon:PATH"]\n'
    ),
}


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The study's folder, beside one that is not its own."""
    for name in ("own", "outside"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("secret words and 12345678\n")
    (tmp_path / "own" / "link").symlink_to(tmp_path / "outside")
    return tmp_path / "own"


def _written(own: Path, named: str, path: str) -> Path:
    file = own / "study.toml"
    file.write_text(NAMED[named].replace("PATH", path))
    return file


@pytest.mark.parametrize("written", ["ABSOLUTE", "../outside/file", "link/file", "${AWAY}/file"])
@pytest.mark.parametrize("named", NAMED)
def test_a_path_outside_is_refused_until_it_is_allowed(
    own: Path, monkeypatch: pytest.MonkeyPatch, named: str, written: str
) -> None:
    outside = own.parent / "outside"
    monkeypatch.setenv("AWAY", str(outside))
    file = _written(own, named, written.replace("ABSOLUTE", str(outside / "file")))
    with pytest.raises(InvalidArgument, match=r"outside its folder .*`allow_path=.*outside/file"):
        list_cells(read_spec(file))
    try:
        list_cells(read_spec(file, Doors((outside,))))
    except SfumatoError as error:  # the file is no model, say
        assert "allow_path" not in str(error)  # noqa: PT017


@pytest.mark.parametrize("named", NAMED)
def test_twin_without_doors_it_would_have_been_used(own: Path, named: str) -> None:
    outside = own.parent / "outside" / "file"
    study = read_spec(_written(own, named, str(outside)), Doors(listing=True))
    try:
        list_cells(study)
    except SfumatoError as error:
        assert "allow_path" not in str(error)  # noqa: PT017
    assert outside in {one.path for one in study.doors.asked.values()}


def test_a_name_that_is_a_file_where_the_command_runs_is_a_path(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(own.parent)
    (own.parent / "private").mkdir()
    for named in ("masked model", "pipeline", "model"):
        with pytest.raises(InvalidArgument, match="allow_path"):
            list_cells(read_spec(_written(own, named, "private")))


def test_everything_inside_needs_no_leave(own: Path) -> None:
    assert list_cells(read_spec(_written(own, "corpus", "file"))).cells
    assert list_cells(read_spec(_written(own, "word list", "./file"))).cells


def test_a_cache_is_kept_beside_the_study_wherever_the_command_runs(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(own.parent)
    study = read_spec(_written(own, "cache", "found"), Doors(listing=True))
    list_cells(study)
    asked = {(one.path, one.purpose) for one in study.doors.asked.values()}
    assert (own / "found", "writes") in asked


def test_the_list_says_what_is_read_and_written_and_where_it_lies(own: Path) -> None:
    outside = own.parent / "outside" / "file"
    file = _written(own, "word list", str(outside))
    study = read_spec(file, Doors(listing=True))
    found = [(one.path, one.purpose, one.where) for one in passages(study, own / "study")]
    assert found == [(outside, "reads", OUTSIDE), (own / "study", "writes", INSIDE)]
    assert not (own / "study").exists()


def test_the_command_lists_and_the_option_allows(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outside = own.parent / "outside" / "file"
    file = str(_written(own, "word list", str(outside)))
    assert main(["study", "check", file, "--json"]) == 1
    listed = json.loads(capsys.readouterr().out)
    assert listed[0] == {"path": str(outside), "use": "reads", "where": "outside"}
    assert main(["study", "run", file]) == 2
    assert "--allow-path" in capsys.readouterr().err
    assert not (own / "study").exists()
    assert main(["study", "check", file, "--allow-path", str(outside)]) == 0
    assert "(allowed)" in capsys.readouterr().out


def test_a_prepared_folder_leads_nowhere_else(own: Path) -> None:
    outside = own.parent / "outside"
    file = own / "study.toml"
    file.write_text(CORPUS + METHOD + TEXT)
    (own / "study").symlink_to(outside)
    assert main(["study", "run", str(file)]) == 2
    study = read_spec(file)
    for name in ("cells", "locks"):
        folder = own / f"with-{name}"
        folder.mkdir()
        (folder / "study.json").write_text("{}")
        (folder / name).symlink_to(outside)
        with pytest.raises(OutputExists, match="is a link"):
            run_study(study, folder, workers=0, resume=True)
    assert [one.name for one in outside.iterdir()] == ["file"]


def test_a_lock_that_is_a_link_is_not_emptied(own: Path) -> None:
    from sfumato.studies.locks import hold_lock

    outside = own.parent / "outside" / "file"
    (own / "lock").symlink_to(outside)
    with pytest.raises(OSError, match="symbolic link"), hold_lock(own / "lock"):
        pass
    assert outside.read_text()


# Settings of components that are text, and no path. A new setting of type str fails the test below
# until it is in this list, or its type says that it is a path.
TEXTS = {
    "attacker", "attributes", "before", "by", "combine", "consistent", "country", "decimal",
    "entries", "fill", "fill_patterns", "form", "keep", "keywords", "label", "labels", "language",
    "law", "mechanism", "method", "noise", "observer",
    "pattern", "pool_field", "prior", "prompt", "property",
    "public_field", "readout", "recall", "regions", "rest", "scale", "score", "selectable",
    "sensitive", "shift", "signals", "source", "state", "types", "unknown", "variant",
    "vocabulary_field",
}  # fmt: skip


def test_every_text_setting_of_a_component_says_whether_it_is_a_path() -> None:
    unsaid = sorted(set(_unsaid()))
    assert not unsaid, f"say FileToRead or FolderToFill, or add to TEXTS: {unsaid}"


def _unsaid() -> Iterator[str]:
    for kind in ("attacks", "mechanisms", "methods", "models", "policies"):
        for name, entry in entries(kind).items():
            component = entry.load()
            if not is_dataclass(component):
                continue
            made: Any = component
            hints, known = get_type_hints(made), purposes(made)
            for one in fields(made):
                if one.init and "str" in str(hints[one.name]) and one.name not in {*known, *TEXTS}:
                    yield f"{kind}/{name}.{one.name}"


def test_the_tables_of_a_study_have_no_path_that_is_not_tried_above() -> None:
    paths = {"path", "manifest", "name", "tokenizer"}
    texts = {
        "author_field", "field", "format", "kind", "label_field", "long", "record", "secrets",
        "template", "settings", "classes", "class_separator", "span_field", "tags", "trainable",
        "pooling",
    }  # fmt: skip
    for table in (CorpusSettings, CanarySettings, Model):
        hints = get_type_hints(table)
        found = {one.name for one in fields(table) if "str" in str(hints[one.name])}
        assert found <= paths | texts
    # Settings of training are names and numbers; a method's own are those of a component.
    hints = get_type_hints(Training)
    assert {one for one in GENERAL if "str" in str(hints[one])} == {
        "accountant", "class_weights", "clipping", "delta", "device", "group_weights", "method",
        "objective", "optimizer", "precision", "record", "recompute", "sampling", "schedule",
        "unit",
    }  # fmt: skip


def test_twin_a_setting_whose_type_says_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "purposes", lambda _: {})
    wanted = {
        "policies/entities.cache", "mechanisms/pseudonym.key_file", "mechanisms/auto.key_file",
    }  # fmt: skip
    assert wanted <= set(_unsaid())
