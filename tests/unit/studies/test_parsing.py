from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.core.errors import BadInput, InvalidArgument, MissingModel, StorageFailed
from sfumato.studies.doors import Doors
from sfumato.studies.grid import list_cells
from sfumato.studies.parsing import parse_spec, read_spec, template
from small_study import SMALL

HERE = Path()
MODEL = """
[model]
name = "lstm"
epochs = 1
[test]
kind = "customersim"
count = 2
"""


def test_the_template_is_a_study(tmp_path: Path) -> None:
    study = parse_spec(template(), tmp_path, "template")
    assert {cell.method for cell in list_cells(study).cells} >= {"numbers only", "no privacy"}


def test_the_template_with_everything_in_it_is_one_too(tmp_path: Path) -> None:
    without = template().replace(_several(), "")
    study = parse_spec(_uncommented(without), tmp_path, "template")
    assert study.model is not None
    assert study.test is not None
    assert {cell.kind for cell in list_cells(study).cells} >= {
        "run",
        "release",
        "attack",
        "measure",
    }


def test_the_template_with_several_corpora_is_one_too(tmp_path: Path) -> None:
    for name in ("tickets", "later-tickets"):
        (tmp_path / f"{name}.jsonl").write_text('{"text": "a 1", "label": "x"}\n')
    several = template().replace("[corpus]", "[corpora.dialogues]")
    study = parse_spec(several.replace(_several(), _uncommented(_several())), tmp_path, "template")
    assert list(study.each) == ["dialogues", "tickets"]
    policies = {name: one.policies["numbers-and-names"] for name, one in study.each.items()}
    assert policies["dialogues"] != policies["tickets"]
    assert {cell.corpus for cell in list_cells(study).cells} == {"dialogues", "tickets"}


def _several() -> str:
    """The tables of a second corpus."""
    return template().partition("coins and policies:\n")[2].partition("\n\n")[0]


def _uncommented(text: str) -> str:
    """The commented tables taken in; sentences stay comments."""
    kept = []
    for line in text.splitlines():
        bare = line.removeprefix("# ")
        is_table = bare.startswith("[") and bare.endswith("]")
        is_key = bare.partition(" = ")[0].replace("_", "").isalnum() and " = " in bare
        sentence = bare.endswith((".", ",")) or "lexicon" in bare or "; " in bare
        kept.append(bare if (is_table or is_key) and not sentence else line)
    return "\n".join(kept)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (("seeds = [1, 2]", "seed = [1, 2]"), "unknown key in the study 'seed'; .*seeds"),
        (("seeds = [1, 2]", "seeds = []"), "seeds must be"),
        (("seeds = [1, 2]", "seeds = [1, 1]"), "seeds must be"),
        (("seeds = [1, 2]", "folder = 'x'"), "unknown key in the study 'folder'"),
        (("count = 6", "cuont = 6"), r"unknown key in \[corpus\] 'cuont'; .*count"),
        (("count = 6", "count = 0"), "count=0"),
        (("count = 6", ""), "needs a count"),
        (('kind = "customersim"', 'kind = "costumersim"'), "customersim"),
        (
            (
                '"redact"',
                '"redact"\n[[methods]]\nname = "SMDP"\nmechanism = "laplace"\nepsilon = 9',
            ),
            "'SMDP' is there twice at 9",
        ),
        (('name = "masks"', 'name = "no privacy"'), "is the name of an anchor"),
        (('name = "masks"', ""), "needs a name"),
        (("[measures.text]", "[measures.texts]"), "unknown measure 'texts'.*text"),
        (("[measures.text]", "[attacks.exposures]"), "unknown attack 'exposures'.*exposure"),
        (("[measures.text]", "[measures.perplexity]"), r"needs \[test\] and \[model\]"),
        (("[measures.text]", "[coins]\ncount = 3"), r"\[model\] is missing"),
        (('policy = "digits"', 'polcy = "digits"'), "unknown key of the text method.*policy"),
        (('policy = "digits"', "policy = 3"), "a policy is a name"),
        (('mechanism = "redact"', ""), "needs a mechanism"),
        (('mechanism = "redact"', 'training = "private"'), r"there is no \[model\]"),
        (("[measures.text]", "[attacks.membership]\nmost = 1"), "most"),
        (("[measures.text]", "[attacks.membership]\nmsot = 100"), "unknown setting.*most"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_computed(
    changed: tuple[str, str], said: str
) -> None:
    with pytest.raises(InvalidArgument, match=said):
        list_cells(parse_spec(SMALL.replace(*changed), HERE, "small"))


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ('training = "private"\nepsilon = 1\nepoch = 2', "unknown key in the method M 'epoch'"),
        ('training = "selectiv"\nepsilon = 1', "selective"),
        ('training = "private"', "epsilon.* is missing"),
        ('training = "private"\nepsilon = -1', "epsilon"),
        ('training = "private"\nepsilon = 1\nsampling = "poison"', "poisson"),
    ],
)
def test_what_is_wrong_with_training_is_said_too(method: str, said: str) -> None:
    text = SMALL + MODEL + f'[[methods]]\nname = "M"\n{method}\n'
    with pytest.raises(InvalidArgument, match=said):
        list_cells(parse_spec(text, HERE, "small"))


def test_a_key_of_the_model_is_checked() -> None:
    text = SMALL + MODEL.replace("epochs", "epohcs")
    with pytest.raises(InvalidArgument, match=r"unknown key in \[model\] 'epohcs'; .*epochs"):
        list_cells(parse_spec(text, HERE, "small"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ('"lstm"\nsettings = {hiden = 3}', "hidden"),
        ('"somebody/model"\nsettings = {hidden = 3}', "settings are for the built-in models"),
        ('"./nowhere"', "there is no folder .*nowhere"),
        ('"."', "there is no config.json"),
        ('"small.toml"', "is a file; a model is a folder"),
    ],
)
def test_a_model_that_cannot_be_is_refused_before_anything_is_computed(
    name: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "small.toml").touch()
    text = SMALL + MODEL.replace('"lstm"', name)
    with pytest.raises((InvalidArgument, MissingModel), match=said):
        list_cells(parse_spec(text, tmp_path, "small"))


def test_no_toml_is_bad_input() -> None:
    with pytest.raises(BadInput, match="not valid TOML"):
        parse_spec("a = = 3", HERE, "x")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match="cannot read"):
        read_spec(tmp_path / "none.toml")


def test_a_corpus_that_is_not_there_is_said(tmp_path: Path) -> None:
    text = SMALL.replace('kind = "customersim"\ncount = 6', 'path = "none.jsonl"')
    with pytest.raises(StorageFailed, match="there is no file"):
        list_cells(parse_spec(text, tmp_path, "x"))


def test_planting_in_a_private_corpus_is_refused(tmp_path: Path) -> None:
    text = SMALL.replace('kind = "customersim"\ncount = 6', 'path = "x.jsonl"')
    with pytest.raises(InvalidArgument, match="planting makes a copy"):
        parse_spec(text + "[canaries]\nrepetitions = [3]\n", tmp_path, "x")


def test_a_part_of_a_private_corpus_is_refused(tmp_path: Path) -> None:
    text = SMALL.replace('kind = "customersim"', 'path = "x.jsonl"')
    with pytest.raises(InvalidArgument, match="would copy a part of the file"):
        parse_spec(text, tmp_path, "x")


def test_paths_know_the_home_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    study = parse_spec(SMALL, HERE, "small", Doors((tmp_path,)))
    assert study.path("~/models/mine") == tmp_path / "models" / "mine"


def test_paths_know_environment_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    study = parse_spec(SMALL, Path("a"), "x", Doors((Path("there"),)))
    monkeypatch.setenv("SFUMATO_TEST_FOLDER", "there")
    assert study.path("${SFUMATO_TEST_FOLDER}/b.txt") == Path("there/b.txt").absolute()
    monkeypatch.delenv("SFUMATO_TEST_FOLDER")
    with pytest.raises(InvalidArgument, match="SFUMATO_TEST_FOLDER"):
        study.path("${SFUMATO_TEST_FOLDER}/b.txt")
