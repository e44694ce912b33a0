"""Presidio's recognizers as a policy: patterns with checksums, context words, and named entities.

Care
    Presidio downloads a spaCy model it does not find, and its e-mail recognizer fetches the list of
    public suffixes. Here it is handed our pipeline, and the list that comes with tldextract, which
    is neither fetched nor cached: no connection is opened.

Reference
    Microsoft Presidio, https://microsoft.github.io/presidio.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.core.checks import between, extra, one_of
from sfumato.core.settings import FileToRead, FolderToFill
from sfumato.policies.identity import Identity
from sfumato.policies.linguistic.entities import check_types, name_types, only
from sfumato.policies.linguistic.pipelines import TEXTS_AT_ONCE, Pipeline, load
from sfumato.policies.linguistic.span_cache import remember
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans

if TYPE_CHECKING:
    from presidio_analyzer import AnalyzerEngine, EntityRecognizer, RecognizerResult
    from presidio_analyzer.nlp_engine import SpacyNlpEngine

USUAL_TYPES = (
    "CREDIT_CARD", "CRYPTO", "DATE_TIME", "EMAIL_ADDRESS", "IBAN_CODE", "IP_ADDRESS", "LOCATION",
    "NRP", "ORGANIZATION", "PERSON", "PHONE_NUMBER", "URL", "US_SSN",
)  # fmt: skip

# Packages whose patterns, telephone numbers and public suffixes decide what is found.
_READ_BY = ("presidio-analyzer", "phonenumbers", "tldextract")


@dataclass(frozen=True, kw_only=True)
class Presidio:
    """What Presidio's recognizers find, labeled with Presidio's types.

    ``types`` says which count, such as PERSON or EMAIL_ADDRESS; all of them unless told. What
    scores below ``threshold`` is left out; at 0 nothing is. ``model`` is a spaCy pipeline, by name
    or path: en_core_web_sm, or what the variable SFUMATO_SPACY_MODEL names, unless told. ``cache``
    is a folder that keeps what was found for the next time; it is as private as the text.
    """

    types: tuple[str, ...] = ()
    threshold: float = 0.0
    model: FileToRead = ""
    cache: FolderToFill = field(default="", repr=False, compare=False)

    argument: ClassVar[str] = "types"

    def __post_init__(self) -> None:
        check_types(self.types, USUAL_TYPES)
        between("threshold", self.threshold, 0, 1)

    @property
    def name(self) -> str:
        """The word presidio, with types and threshold where they were chosen: less is found."""
        chosen = [*self.types, *([f"at least {self.threshold:g}"] if self.threshold else [])]
        return name_types("presidio", chosen)

    def find(self, document: Document) -> Spans:
        """What Presidio finds in one document."""
        return self.find_many([document])[0]

    def find_many(self, documents: Sequence[Document]) -> list[Spans]:
        """What Presidio finds in each document, read in batches."""
        extra("presidio_analyzer", needed_for="the policy 'presidio'", extra="nlp")
        pipeline = load(self.model, policy="presidio")
        analyzer = _analyzer(pipeline)
        for kind in self.types:
            one_of("types", kind, analyzer.get_supported_entities(pipeline.code))
        identity = ("presidio", version("presidio-analyzer"), f"{self.threshold!r}")
        found = remember(
            self.cache,
            (*identity, pipeline.identity) if self.cache else (),
            [document.text for document in documents],
            lambda texts: _recognize(pipeline, analyzer, self.threshold, texts),
        )
        return [only(spans, self.types) for spans in found]

    def identity(self) -> Identity:
        """Types, threshold and Presidio with what it reads by; a pipeline may hold rules."""
        extra("presidio_analyzer", needed_for="the policy 'presidio'", extra="nlp")
        read_by = tuple(version(name) for name in _READ_BY)
        pipeline = load(self.model, policy="presidio").identity
        parts = ("presidio", self.types, self.threshold, read_by, pipeline)
        return Identity(parts, private=True)


def _recognize(
    pipeline: Pipeline, analyzer: AnalyzerEngine, threshold: float, texts: Sequence[str]
) -> list[Spans]:
    language = pipeline.code

    def analysis(pieces: Iterable[str]) -> Iterator[Iterable[Span]]:
        read = analyzer.nlp_engine.process_batch(
            list(pieces), language=language, batch_size=TEXTS_AT_ONCE
        )
        for text, artifacts in read:
            results = analyzer.analyze(
                text, language, score_threshold=threshold, nlp_artifacts=artifacts
            )
            yield [_span(result) for result in results]

    return pipeline.read(texts, analysis)


def _span(result: RecognizerResult) -> Span:
    metadata: dict[str, Any] = result.recognition_metadata or {}
    recognizer = metadata.get("recognizer_name", "a recognizer")
    # The reason that Presidio gives holds the pattern, and may hold words of the text.
    return Span(result.start, result.end, result.entity_type, "presidio", f"by {recognizer}")


@cache
def _analyzer(pipeline: Pipeline) -> AnalyzerEngine:
    from presidio_analyzer import AnalyzerEngine, RecognizerRegistry

    language = pipeline.code
    engine = _engine(pipeline)
    registry = RecognizerRegistry(supported_languages=[language])
    registry.load_predefined_recognizers(languages=[language], nlp_engine=engine)
    registry.remove_recognizer("EmailRecognizer")
    registry.add_recognizer(_email_recognizer(language))
    return AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=[language])


def _engine(pipeline: Pipeline) -> SpacyNlpEngine:
    """Presidio's view of our pipeline; it counts as loaded, so that nothing is fetched."""
    from presidio_analyzer.nlp_engine import SpacyNlpEngine

    language = pipeline.code
    engine = SpacyNlpEngine([{"lang_code": language, "model_name": str(pipeline.source)}])
    setattr(engine, "nlp", {language: pipeline.language})  # noqa: B010  # it is typed as None
    return engine


def _email_recognizer(language: str) -> EntityRecognizer:
    """Presidio's recognizer of e-mail addresses with the list of suffixes that is installed."""
    from presidio_analyzer.predefined_recognizers import EmailRecognizer
    from tldextract import TLDExtract

    suffixes = TLDExtract(suffix_list_urls=(), cache_dir=None, fallback_to_snapshot=True)

    class Offline(EmailRecognizer):
        def validate_result(self, pattern_text: str) -> bool:
            return suffixes(pattern_text).fqdn != ""

    return Offline(supported_language=language, name="EmailRecognizer")
