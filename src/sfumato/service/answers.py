"""What is answered: the shapes that the OpenAPI document promises.

Answers are made as plain tables and not checked against these while the service runs: a test does
that (``tests/unit/service/test_openapi.py``).
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Answer(BaseModel):
    """An answer in which every field is listed."""

    model_config = ConfigDict(extra="forbid")


class Health(Answer):
    """Whether the service runs."""

    status: Literal["ok"]
    version: str


class Curve(Answer):
    """With which chance public words stay at each level: the median one and others."""

    model_config = ConfigDict(extra="allow")

    mechanism: str
    draws: int


class Mechanism(Answer):
    """A mechanism that can be asked for, with its curve of staying if there is one."""

    name: str
    summary: str
    replaces: Literal["by type", "stretches", "words"]
    level: Literal["none", "optional", "needed"]
    settings: dict[str, dict[str, Any]]
    staying: Curve | None


class PolicyShown(Answer):
    """A policy that can be asked for."""

    name: str
    summary: str
    types: list[str]


class Reason(Answer):
    """Why something was found."""

    recognizer: str
    textual_explanation: str
    original_score: float
    score: float


class Finding(Answer):
    """A stretch of a text that is sensitive, in Presidio's shape."""

    entity_type: str
    start: int
    end: int
    score: float
    analysis_explanation: Reason | None


Findings = list[Finding] | list[list[Finding]]


class Stated(Answer):
    """A guarantee, field by field; a level that is infinite is the text "inf"."""

    notion: str
    unit: str
    neighbors: str
    epsilon: float | Literal["inf"]
    delta: float
    record: str = ""
    policy: str = ""
    metric: str
    scope: str
    leaks: list[str]
    uncovered: list[str]
    for_release: bool
    parts: list[StatedPart] = []
    stays: float | None = None
    unchanged: dict[str, float] = {}


class StatedPart(Answer):
    """The guarantee for some types; no types are all others."""

    types: list[str]
    guarantee: Stated


class Told(Stated):
    """A guarantee with its sentence and three lines for people."""

    sentence: str
    summary: list[str]


class AccountShown(Answer):
    """An account as it stands; no limit is null."""

    kind: Literal["text", "author", "corpus"]
    measure: Literal["level", "approximate", "rho", "renyi"]
    order: float | None
    limit: float | None
    spent: float
    held: float
    left: float | None
    limit_delta: float
    spent_delta: float
    charges: int
    opened: str
    closed: str | None
    sentence: str


class Bill(AccountShown):
    """What a release was charged, and its account afterwards."""

    charged: float


class Release(Answer):
    """Texts that were released; ``repeated`` if they had been before, under the same key."""

    text: str | list[str]
    counts: dict[str, Any]
    guarantee: Told
    budget: Bill | None
    repeated: bool = False


class Item(Answer):
    """What stands at one place of a new text, in Presidio's shape."""

    start: int
    end: int
    entity_type: str
    text: str
    operator: str


class Anonymized(Answer):
    """A new text, with what stands where."""

    text: str
    items: list[Item]
    guarantee: Told
    budget: Bill | None
    repeated: bool = False


class Estimate(Answer):
    """A probability, and between which values it lies."""

    value: float
    low: float
    high: float
    draws: int


class Word(Answer):
    """A place of a text, why it was selected, and what might stand there."""

    start: int
    end: int
    original: str
    replacement: str
    label: str
    rule: str
    reason: str
    known: bool | None
    kept: Estimate | None
    epsilon: float | None


class Cost(Answer):
    """What a release would cost an account, or why such an account cannot pay for it."""

    level: float | None
    why: str


class Preview(Answer):
    """What would happen to a text; not for release. Costs go by the kind of an account."""

    stamp: str
    for_release: Literal[False]
    text: str
    words: list[Word]
    guarantee: Told
    costs: dict[str, Cost]


class Chance(Answer):
    """A word and its probability."""

    word: str
    value: float
    low: float
    high: float


class Bars(Answer):
    """The likeliest words, and the chance of all others together."""

    words: list[Chance]
    others: Estimate


class Blind(Answer):
    """What is guessed without looking."""

    word: str
    share: float
    right: bool


class Attacker(Answer):
    """What an attacker would guess who sees what stands there now."""

    guesses: Bars
    right: Estimate
    blind: Blind
    settled: float | None
    prior: str
    sees_place: Estimate | None
    belief: float | None


class WordPreview(Answer):
    """What one word may become, and what would be guessed; not for release."""

    stamp: str
    for_release: Literal[False]
    word: str
    label: str
    epsilon: float | None
    exact: bool
    draws: int
    known: bool | None
    stays: Estimate | None
    replacements: Bars | None
    attacker: Attacker | None
    examples: list[str]
    notes: list[str]
    guarantee: Stated
    sentence: str


class Compared(Answer):
    """Two mechanisms on the same words; not for release."""

    stamp: str
    for_release: Literal[False]
    equal_epsilon: list[dict[str, Any]]
    equal_chance: list[dict[str, Any]] | None
    reason: str | None


class TokenShown(Answer):
    """What a token allows, and whether releases are charged."""

    rights: list[str]
    expires: str | None
    budget: bool
    uncharged: bool


class Page(Answer):
    """A page in Markdown."""

    markdown: str


class Misfit(Answer):
    """Where a request does not fit, and how."""

    where: list[str | int]
    kind: str


class ProblemShown(Answer):
    """An error, as RFC 9457 describes it; nothing of the request is repeated."""

    type: str = Field(examples=["BudgetExceeded"])
    title: str
    status: int
    detail: str
    errors: list[Misfit] | None = None
