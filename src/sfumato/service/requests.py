"""What can be asked for: the bodies of requests, each field with its type and its bounds.

A field that is not listed is refused, so that a mistyped setting is not a weaker protection; in
Presidio's shapes it is ignored, as Presidio does.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sfumato.accounting.budget.accounts import LONGEST_NAME

MOST_PHRASES = 5000
MOST_SPANS = 100_000
MOST_DRAWS = 2000
MOST_BARS = 50
LONGEST_COMPARED = 2000
# Letters times draws of an explanation: a turn that has begun cannot be stopped, and what takes
# hours would keep everybody else out.
MOST_EXPLAINED = LONGEST_COMPARED * MOST_DRAWS

Name = Annotated[str, Field(min_length=1, max_length=200)]
Phrase = Annotated[str, Field(min_length=1, max_length=1000)]
Texts = str | list[str]
Value = bool | int | float | str | list[str]


class Strict(BaseModel):
    """A body in which every field is known and has its type."""

    model_config = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False, hide_input_in_errors=True
    )


class Lenient(BaseModel):
    """A body in Presidio's shape: fields that are not known are ignored."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False, hide_input_in_errors=True)


_TEXT = "Ask Ada Lovelace at 515 555 0146."
_FOUND = {"start": 4, "end": 16, "entity_type": "PERSON", "score": 1.0}


def _like(**example: Any) -> ConfigDict:
    """An example for the documentation."""
    return ConfigDict(json_schema_extra={"examples": [example]})


class AccountName(Strict):
    """An account, by its kind and the caller's own id."""

    model_config = _like(kind="author", id="u-17")

    kind: Literal["text", "author", "corpus"]
    id: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]

    @property
    def spelled(self) -> str:
        """As a budget takes it."""
        return f"{self.kind}:{self.id}"


class NewAccount(AccountName):
    """An account to be opened; ``limit`` is left out only where a level may have none."""

    model_config = _like(kind="author", id="u-17", measure="level", limit=200)

    measure: Literal["level", "approximate", "rho", "renyi"] = "level"
    limit: Annotated[float, Field(gt=0)] | None = None
    delta: Annotated[float, Field(ge=0, le=1)] = 0.0
    order: Annotated[float, Field(gt=1)] | None = None


class Statement(AccountName):
    """An account whose statement is wanted, and the delta at which a level is stated."""

    model_config = _like(kind="author", id="u-17")

    delta: Annotated[float, Field(gt=0, lt=1)] = 1e-5


class Choices(Strict):
    """What is sensitive, what is put in its place, and how strongly.

    ``policy`` names one or several policies; ``lexicon`` are words and phrases that are sensitive
    as well, and ``allow_list`` those that are not. ``settings`` are those of the mechanism, and
    ``POLICY.KEY`` those of a policy.
    """

    model_config = _like(policy="pii", mechanism="laplace", epsilon=5)

    policy: Name | Annotated[list[Name], Field(min_length=1, max_length=20)] = "pii"
    lexicon: Annotated[list[Phrase], Field(max_length=MOST_PHRASES)] = []
    allow_list: Annotated[list[Phrase], Field(max_length=MOST_PHRASES)] = []
    mechanism: Name = "auto"
    epsilon: Annotated[float, Field(gt=0)] | None = None
    by_type: Annotated[dict[Name, Name], Field(max_length=100)] = {}
    settings: Annotated[dict[Name, Value], Field(max_length=50)] = {}
    unknown: Literal["centroid", "shape", "keep"] | None = None
    case: Literal["public", "restore"] = "public"


class PrivatizeRequest(Choices):
    """One text, or several that are released together."""

    model_config = _like(
        text=_TEXT, mechanism="laplace", epsilon=5, account={"kind": "author", "id": "u-17"}
    )

    text: Texts
    account: AccountName | None = None


class ExplainRequest(Choices):
    """One text; nothing is charged, and what comes out is not for release."""

    model_config = _like(text=_TEXT, mechanism="laplace", epsilon=5, draws=50)

    text: str
    draws: Annotated[int, Field(ge=1, le=MOST_DRAWS)] = 400


class GuaranteeRequest(Choices):
    """Settings without a text."""


class AnalyzeRequest(Lenient):
    """What is sensitive in one text or in several, in Presidio's shape."""

    model_config = _like(text=_TEXT, language="en")

    text: Texts
    language: Annotated[str, Field(max_length=20)] | None = None
    policy: Name | Annotated[list[Name], Field(min_length=1, max_length=20)] = "pii"
    entities: Annotated[list[Name], Field(max_length=200)] | None = None
    score_threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    return_decision_process: bool = False
    lexicon: Annotated[list[Phrase], Field(max_length=MOST_PHRASES)] = []
    allow_list: Annotated[list[Phrase], Field(max_length=MOST_PHRASES)] | None = None
    allow_list_match: Literal["exact", "regex"] | None = None
    settings: Annotated[dict[Name, Value], Field(max_length=50)] = {}
    ad_hoc_recognizers: list[Any] | None = None


class AnalyzerResult(Lenient):
    """A stretch that was found, in Presidio's shape."""

    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=0)]
    entity_type: Name
    score: float = 1.0


class Operator(Lenient):
    """What is put in the place of one type: an operator of Presidio's, or a mechanism."""

    type: Name
    new_value: Annotated[str, Field(max_length=1000)] | None = None
    masking_char: Annotated[str, Field(min_length=1, max_length=1)] = "*"
    chars_to_mask: Annotated[int, Field(ge=0)] | None = None
    from_end: bool = False
    hash_type: Literal["sha256", "sha512"] = "sha256"
    epsilon: Annotated[float, Field(gt=0)] | None = None
    settings: Annotated[dict[Name, Value], Field(max_length=50)] = {}


class AnonymizeRequest(Lenient):
    """A text with what was found in it, in Presidio's shape."""

    model_config = _like(
        text=_TEXT, analyzer_results=[_FOUND], anonymizers={"DEFAULT": {"type": "redact"}}
    )

    text: str
    analyzer_results: Annotated[list[AnalyzerResult], Field(max_length=MOST_SPANS)]
    anonymizers: Annotated[dict[Name, Operator], Field(max_length=200)] = {}
    account: AccountName | None = None


class WordRequest(ExplainRequest):
    """One place of a text that is replaced: ``start`` is where it begins, as in an explanation.

    ``most`` is the number of bars.
    """

    model_config = _like(text=_TEXT, start=4, mechanism="laplace", epsilon=8)

    start: Annotated[int, Field(ge=0)]
    most: Annotated[int, Field(ge=1, le=MOST_BARS)] = 8


class CompareRequest(Strict):
    """A word or a short text, and two mechanisms that replace words."""

    model_config = _like(text="Ada", mechanisms=["laplace", "exponential"], epsilon=8)

    text: Annotated[str, Field(min_length=1, max_length=LONGEST_COMPARED)]
    mechanisms: Annotated[list[Name], Field(min_length=2, max_length=2)]
    epsilon: Annotated[float, Field(gt=0)]
    draws: Annotated[int, Field(ge=1, le=MOST_DRAWS)] = 400
    most: Annotated[int, Field(ge=1, le=MOST_BARS)] = 8


@cache
def field_names() -> frozenset[str]:
    """The names of all fields, which errors may repeat."""
    models = (
        NewAccount, Statement, PrivatizeRequest, ExplainRequest, AnalyzeRequest, AnalyzerResult,
        Operator, AnonymizeRequest, WordRequest, CompareRequest,
    )  # fmt: skip
    return frozenset(name for model in models for name in model.model_fields)
