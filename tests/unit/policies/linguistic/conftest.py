"""Small pipelines without a trained model, saved to disk as a user would have them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

ROLES = {
    "she": ("PRON", "nsubj"), "him": ("PRON", "dative"), "zorg": ("PROPN", "dobj"),
    "doctor": ("NOUN", "nsubj"), "pill": ("NOUN", "dobj"), "to": ("ADP", "dative"),
    "clerk": ("NOUN", "dative"), "ann": ("PROPN", "nsubj"), "gave": ("VERB", "ROOT"),
}  # fmt: skip


@pytest.fixture(scope="session")
def installed() -> None:
    pytest.importorskip(
        "spacy",
        reason="SKIPPED WITHOUT SPACY: nothing was checked about the policies entities, contextual "
        "and presidio; pip install 'sfumato[nlp]'",
    )


@pytest.fixture(scope="session")
def entity_pipeline(installed: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Finds Ann, Zoë and Paris, wherever they stand; no tagger and no parser."""
    folder = tmp_path_factory.mktemp("models") / "rules"
    _with_entities().to_disk(folder)
    return folder


@pytest.fixture(scope="session")
def grammar_pipeline(installed: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with the parts of speech and relations of a handful of words."""
    from spacy.language import Language

    @Language.component("test_grammar", assigns=["token.dep", "token.pos"])
    def grammar(doc: Doc) -> Doc:
        for token in doc:
            part, relation = ROLES.get(token.lower_, ("X", "dep"))
            token.pos_, token.dep_ = part, relation
        return doc

    folder = tmp_path_factory.mktemp("models") / "grammar"
    language = _with_entities()
    language.add_pipe("test_grammar")
    language.to_disk(folder)
    return folder


@pytest.fixture(scope="session")
def real_pipeline(installed: None, resources: Path) -> Path:
    folder = resources / "models" / "en_core_web_sm"
    if not folder.is_dir():
        pytest.skip(f"SKIPPED WITHOUT RESOURCES: there is no trained pipeline in {folder}")
    return folder


def _with_entities() -> Language:
    import spacy

    language = spacy.blank("en")
    ruler = language.add_pipe("entity_ruler")
    ruler.add_patterns(  # type: ignore[attr-defined]
        [
            {"label": "PERSON", "pattern": [{"LOWER": {"IN": ["ann", "zoë", "7", "cat"]}}]},
            {"label": "GPE", "pattern": "Paris"},
            {"label": "GPE", "pattern": "New York"},
        ]
    )
    return language
