"""Pipelines are found by path, package or variable, loaded once, and forget what they read."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sfumato.core.errors import BadInput, MissingExtra, MissingModel
from sfumato.core.keys import Key
from sfumato.policies.identity import policy_code
from sfumato.policies.linguistic import pipelines
from sfumato.policies.linguistic.contextual import Contextual
from sfumato.policies.linguistic.entities import Entities
from sfumato.policies.policy import Policy
from sfumato.text.document import Document

if TYPE_CHECKING:
    from spacy.lookups import Lookups

ANN = Document("Ann went home.")
KEY = Key(b"a key of at least sixteen bytes", "file")


def test_a_pipeline_is_loaded_once_and_shared(entity_pipeline: Path) -> None:
    first = pipelines.load(str(entity_pipeline), policy="entities")
    assert pipelines.load(str(entity_pipeline), policy="contextual") is first


def test_the_variable_names_the_pipeline(
    entity_pipeline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(pipelines.VARIABLE, str(entity_pipeline))
    assert len(Entities().find(ANN)) == 1


def test_an_installed_package_is_found_by_its_name(
    entity_pipeline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "en_sfumato_rules"
    meta = (entity_pipeline / "meta.json").read_text(encoding="utf-8")
    version = json.loads(meta)["version"]
    shutil.copytree(entity_pipeline, package / f"en_sfumato_rules-{version}")
    named = json.loads(meta) | {"lang": "en", "name": "sfumato_rules"}
    (package / "meta.json").write_text(json.dumps(named), encoding="utf-8")
    (package / "__init__.py").write_text(
        "from spacy.util import load_model_from_init_py\n"
        "def load(**overrides):\n    return load_model_from_init_py(__file__, **overrides)\n"
    )
    installed_as = tmp_path / f"en_sfumato_rules-{version}.dist-info"
    installed_as.mkdir()
    (installed_as / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: en_sfumato_rules\nVersion: {version}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert len(Entities(model="en_sfumato_rules").find(ANN)) == 1
    pipeline = pipelines.load("en_sfumato_rules", policy="entities")
    assert pipeline.source.is_relative_to(package)
    assert len(pipeline.identity) == 32


def test_rules_that_look_at_lemmas_still_see_them(installed: None, tmp_path: Path) -> None:
    import spacy

    language = spacy.blank("en")
    language.add_pipe("lemmatizer", config={"mode": "lookup"}).initialize(  # type: ignore[attr-defined]
        list, nlp=language, lookups=_lookups()
    )
    ruler = language.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "EVENT", "pattern": [{"LEMMA": "war"}]}])  # type: ignore[attr-defined]
    language.to_disk(tmp_path / "lemmas")
    spans = Entities(model=str(tmp_path / "lemmas")).find(Document("two wars"))
    assert [span.label for span in spans] == ["EVENT"]


def _lookups() -> Lookups:
    from spacy.lookups import Lookups

    lookups = Lookups()
    lookups.add_table("lemma_lookup", {"wars": "war"})
    return lookups


def test_without_spacy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtra, match=r"'entities' needs an extra: .*sfumato\[nlp\]"):
        Entities().find(ANN)


def test_without_a_pipeline_the_ways_to_one_are_named(
    installed: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(pipelines.VARIABLE, "no_such_pipeline")
    with pytest.raises(MissingModel, match=r"spacy download en_core_web_sm.*SFUMATO_SPACY_MODEL"):
        Entities().find(ANN)
    with pytest.raises(MissingModel, match=r"no config\.cfg"):
        Entities(model=str(tmp_path)).find(ANN)


def test_a_pipeline_without_entities_is_refused(installed: None, tmp_path: Path) -> None:
    import spacy

    spacy.blank("en").to_disk(tmp_path / "bare")
    with pytest.raises(MissingModel, match="bare lacks named entities"):
        Entities(model=str(tmp_path / "bare")).find(ANN)


def test_words_of_a_text_are_forgotten(entity_pipeline: Path) -> None:
    strings = pipelines.load(str(entity_pipeline), policy="entities").language.vocab.strings
    Entities(model=str(entity_pipeline)).find(Document("Ann has the secret xyzzyplugh"))
    assert "xyzzyplugh" not in strings


def test_twin_without_a_memory_zone_remembers(entity_pipeline: Path) -> None:
    import spacy

    language = spacy.load(entity_pipeline)
    language("Ann has the secret xyzzyplugh")
    assert "xyzzyplugh" in language.vocab.strings


def test_the_identity_follows_the_files(entity_pipeline: Path, tmp_path: Path) -> None:
    import spacy

    one = pipelines.load(str(entity_pipeline), policy="entities")
    changed = spacy.load(entity_pipeline)
    changed.get_pipe("entity_ruler").add_patterns(  # type: ignore[attr-defined]
        [{"label": "ORG", "pattern": "Acme"}]
    )
    changed.to_disk(tmp_path / "changed")
    spacy.load(entity_pipeline).to_disk(tmp_path / "same")
    other = pipelines.load(str(tmp_path / "changed"), policy="entities")
    assert len(one.identity) == 32
    assert other.identity != one.identity
    assert pipelines.load(str(tmp_path / "same"), policy="entities").identity == one.identity


@pytest.mark.parametrize("content", ["", "no configuration", "[nlp]\nlang = 'en'\npipeline = 7\n"])
def test_a_damaged_pipeline_is_named_and_no_mistake_of_ours(
    installed: None, tmp_path: Path, content: str
) -> None:
    (tmp_path / "config.cfg").write_text(content)
    with pytest.raises(MissingModel, match="cannot be read as a spaCy pipeline"):
        Entities(model=str(tmp_path)).find(Document("Ada"))
    with pytest.raises(MissingModel, match="no spaCy pipeline numpy"):
        Entities(model="numpy").find(Document("Ada"))


def test_policies_are_told_apart_by_the_files_of_their_pipelines(
    entity_pipeline: Path, grammar_pipeline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, other = str(entity_pipeline), str(grammar_pipeline)
    policies: list[Policy] = [
        Entities(model=model),
        Entities(model=other),
        Entities(model=model, types=("GPE",)),
        Contextual(model=model),
        Contextual(model=other),
    ]
    codes = [policy_code(policy, KEY) for policy in policies]
    assert len(set(codes)) == len(codes)
    copied = tmp_path / "copied"
    shutil.copytree(entity_pipeline, copied)
    # The same files elsewhere, or found by the variable, are the same policy, cache or not.
    assert policy_code(Entities(model=str(copied), cache=str(tmp_path / "kept")), KEY) == codes[0]
    monkeypatch.setenv(pipelines.VARIABLE, str(copied))
    assert policy_code(Entities(), KEY) == codes[0]
    # Settings alone are blind to what the variable names now.
    monkeypatch.setenv(pipelines.VARIABLE, other)
    assert policy_code(Entities(), KEY) == codes[1]


HOSTILE = {
    "a callback": '[nlp.before_creation]\n@callbacks = "sfumato.test.v1"\n',
    "a callback of spaCy's": (
        '[nlp.after_creation]\n@callbacks = "spacy.copy_from_base_model.v1"\ntokenizer = "other"\n'
    ),
    "a file that is read": '[nlp.extra]\n@readers = "srsly.read_json.v1"\npath = "/etc/hostname"\n',
    "another pipeline": '[components.other]\nsource = "OTHER"\n',
    "a knowledge base from a file": (
        '[components.entity_ruler.kb]\n@misc = "spacy.KBFromFile.v1"\nkb_path = "/etc/hostname"\n'
    ),
    "a pickled layer": '[components.entity_ruler.model]\n@layers = "PyTorchWrapper.v3"\n',
    "a function by a detour": (
        "[components.entity_ruler.extra]\nmodel = ${hidden}\n"
        '[hidden]\n@callbacks = "sfumato.test.v1"\n'
    ),
}


@pytest.mark.parametrize("how", HOSTILE)
def test_a_pipeline_has_nothing_called_and_nothing_read(
    entity_pipeline: Path, tmp_path: Path, how: str
) -> None:
    called = _registered(tmp_path)
    folder = _with_more(entity_pipeline, tmp_path, HOSTILE[how])
    with pytest.raises(BadInput, match="is refused: "):
        Entities(model=str(folder)).find(ANN)
    assert not called


def test_twin_spacy_itself_calls_what_a_pipeline_names(
    entity_pipeline: Path, tmp_path: Path
) -> None:
    import spacy

    called = _registered(tmp_path)
    spacy.load(_with_more(entity_pipeline, tmp_path, HOSTILE["a callback"]))
    assert called == ["called"]


def test_a_pipeline_with_a_link_out_is_refused(entity_pipeline: Path, tmp_path: Path) -> None:
    folder = _with_more(entity_pipeline, tmp_path, "")
    outside = tmp_path / "outside.json"
    shutil.move(folder / "meta.json", outside)
    (folder / "meta.json").symlink_to(outside)
    with pytest.raises(BadInput, match="a link to something outside"):
        Entities(model=str(folder)).find(ANN)


def test_the_module_of_a_package_is_not_imported(
    entity_pipeline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "en_sfumato_trap"
    shutil.copytree(entity_pipeline, package / "en_sfumato_trap-1.0")
    (package / "__init__.py").write_text("raise SystemExit('imported')")
    (tmp_path / "en_sfumato_trap-1.0.dist-info").mkdir()
    (tmp_path / "en_sfumato_trap-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: en_sfumato_trap\nVersion: 1.0\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert len(Entities(model="en_sfumato_trap").find(ANN)) == 1
    assert "en_sfumato_trap" not in sys.modules


def _with_more(pipeline: Path, tmp_path: Path, more: str) -> Path:
    """A copy with another section in its configuration."""
    folder = tmp_path / "hostile"
    shutil.copytree(pipeline, folder)
    config = (folder / "config.cfg").read_text()
    for key in ("before_creation", "after_creation"):
        if f"[nlp.{key}]" in more:  # not said twice
            config = config.replace(f"\n{key} = null\n", "\n")
    (folder / "config.cfg").write_text(config + "\n" + more.replace("OTHER", str(pipeline)))
    return folder


def _registered(tmp_path: Path) -> list[str]:
    """A function that an installed package could have registered; it notes that it is called."""
    from spacy.util import registry

    called: list[str] = []

    def make() -> object:
        called.append("called")
        return lambda given: given

    registry.callbacks("sfumato.test.v1", func=make)
    return called
