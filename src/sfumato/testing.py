"""Checks for whoever writes a component: does it do all that the rest of sfumato relies on?

Each check raises AssertionError with a sentence that says what is wrong; nothing else is needed,
pytest least of all. The checks are about form: shapes, refusals, noise that is new and comes from
where it should, spans inside the text, nothing private in names and reasons, copies that travel to
other processes, identities by which a stopped run is known again. Whether a mechanism's claim is
true is another question: ``sfumato verify file.py:Class --epsilon 5`` tries to refute it.

>>> from sfumato.policies.patterns import Digits
>>> check_policy(Digits(), ["Room 12"])
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sfumato.attacks.attack import Attack, Inputs, run_attack
from sfumato.audits.candidates import color_space
from sfumato.catalog import find
from sfumato.core.errors import InvalidArgument
from sfumato.core.own_code import stands_in_script
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.mechanisms.build import make_mechanism
from sfumato.mechanisms.identity import mechanism_identity
from sfumato.mechanisms.mechanism import (
    DocumentMechanism,
    Keyed,
    PointMechanism,
    StretchMechanism,
)
from sfumato.mechanisms.selective import Selective
from sfumato.mechanisms.vocabulary import OverVocabulary
from sfumato.policies.identity import Identified, identity_of
from sfumato.policies.parsing import parse_policy
from sfumato.policies.patterns import Digits, Everything
from sfumato.policies.policy import Batched, Policy
from sfumato.results.measured import Measured
from sfumato.results.row import ROLES
from sfumato.results.scores import Scores
from sfumato.studies.measures.measure import MECHANISM, MODEL, TEXT, Measure, Specimen, take
from sfumato.text.document import Document
from sfumato.text.span import Span, Stretch
from sfumato.text.words import Words
from sfumato.training.folder import RunFolder
from sfumato.training.methods.base import TrainingMethod, build_method
from sfumato.training.methods.promise import PolicyPromise
from sfumato.training.settings import Privacy
from sfumato.vectors.space import Space

if TYPE_CHECKING:
    from sfumato.training.run import Run

__all__ = ["check_attack", "check_measure", "check_mechanism", "check_method", "check_policy"]

TEXTS = ("", "😀\u200d \r\n", "My ID is 145572, call Zoë at 555-0142!", "日本 12 שלום 🇩🇪" * 50)
LEVELS = (1e-6, 1.0, 1e6)
NO_LEVELS: tuple[object, ...] = (0, -1, math.inf, math.nan, "much")
# The smallest models, and a word and a number that nothing but a note holds.
TINY: dict[str, dict[str, object]] = {
    "lstm": {"hidden": 4, "embedding": 4, "context": 32},
    "gpt-small": {"layers": 1, "width": 8, "heads": 2, "context": 32},
}
NOTE, SECRET = "xylorimba", "70311"
# Originals of one form each: what claims not to look at them must treat them alike.
ORIGINALS = {
    "PERSON": ("Ada Lovelace", "Wu Zhao", "Zdeněk Müller"),
    "EMAIL": ("ada@example.org", "zoe.w@example.com"),
    "PHONE": ("020 7946 0958", "020 7946 0000"),
    "ANY": ("violet", "indigo"),
}
# Words of this length in a reason or a name are taken for a quotation.
QUOTED = 5


def check_mechanism(
    mechanism: str | type[Any],
    *,
    settings: Mapping[str, object] | None = None,
    space: Space | None = None,
) -> None:
    """A mechanism class, or its name: of words over a space, of stretches, or of documents."""
    kind = find("mechanisms", mechanism).load() if isinstance(mechanism, str) else mechanism
    _hold(isinstance(kind, type), "a mechanism is a class")
    if issubclass(kind, StretchMechanism):
        _check_stretches(kind(**(settings or {})))
        return
    if issubclass(kind, DocumentMechanism):
        _check_documents(kind(**(settings or {})))
        return
    where = color_space(1.0) if space is None else space
    for epsilon in LEVELS:
        _check_words(make_mechanism(kind, settings or {}, space=where, epsilon=epsilon), where)
    made = make_mechanism(kind, settings or {}, space=where, epsilon=1.0)
    who = kind.__name__
    guarantee = made.guarantee()
    _hold(isinstance(guarantee, Guarantee), f"{who}.guarantee() must give a Guarantee")
    _hold(guarantee.epsilon == 1.0, f"{who} must claim the level that it was given")
    _hold(guarantee.sentence().endswith("."), f"the guarantee of {who} must be a sentence")
    for level in NO_LEVELS:
        _refuses(kind, settings or {}, where, level)
    _check_noise(make_mechanism(kind, settings or {}, space=where, epsilon=0.2))
    _check_copies(made, who)


def check_policy(policy: str | Policy, texts: Sequence[str] = ()) -> None:
    """A policy, or how it is written; in one of the ``texts`` at least it must find something."""
    made = parse_policy(policy) if isinstance(policy, str) else policy
    who = type(made).__name__
    _hold(isinstance(made, Policy), f"{who} is no policy: it has no name or no find")
    _hold(bool(made.name) and made.name.isprintable(), f"{who} needs a name that can be printed")
    documents = [Document(text) for text in (*TEXTS, *texts)]
    found = [made.find(one) for one in documents]
    for document, spans in zip(documents, found, strict=True):
        _check_spans(who, document.text, list(spans))
    _hold(
        not texts or any(len(one) for one in found[len(TEXTS) :]),
        f"{who} finds nothing in the texts that were given, so nothing was checked",
    )
    again = [made.find(one) for one in reversed(documents)]
    _hold(again[::-1] == found, f"{who} must find the same again, whatever it has read before")
    if isinstance(made, Batched):
        _hold(made.find_many(documents) == found, f"{who}.find_many must find what find finds")
    copy = _travel(made)
    _hold(
        [copy.find(one) for one in documents] == found,
        f"a copy of {who} in another process must find the same",
    )
    public = {text for spans in found for one in spans for text in (one.label, one.rule)}
    _check_identity(made, copy, {who, made.name, *public})


def check_attack(attack: Attack[Any, Any], inputs: Inputs) -> None:
    """An attack, on inputs that it can be run on."""
    who = type(attack).__name__
    _hold(is_dataclass(attack), f"{who} must be a dataclass: its fields are its settings")
    _hold(bool(attack.name), f"{who} needs a name")
    _hold(attack.target in ("model", "text"), f"{who}.target must be 'model' or 'text'")
    lacking = attack.missing(Inputs(target=inputs.target / "nowhere"))
    _hold(
        isinstance(lacking, str) and bool(lacking),
        f"{who}.missing must say in a sentence that the target is not there",
    )
    told = attack.missing(inputs)
    _hold(told is None, f"{who} cannot be run on these inputs: {told}")
    first, second = (run_attack(attack, inputs, Randomness.reproducible(1)) for _ in range(2))
    _check_scores(who, attack.name, first)
    _hold(
        first.figures == second.figures,
        f"{who} must give the same figures with the same randomness: draw from it alone",
    )
    written = json.dumps(first.as_dict(), ensure_ascii=False)
    for text in _texts_of(inputs):
        _hold(text not in written, f"{who} writes a private text into its scores")


def check_measure(measure: Measure, specimen: Specimen | None = None) -> None:
    """A measure, on a specimen that it looks at; one of a text is given a few notes by default.

    It must say of every figure which way is better, draw from nothing but the randomness that it
    is given, leave the specimen as it was, and write no text into its details.
    """
    who = type(measure).__name__
    _hold(is_dataclass(measure), f"{who} must be a dataclass: its fields are its settings")
    _hold(bool(measure.name), f"{who} needs a name")
    _hold(
        measure.of in (TEXT, MODEL, MECHANISM),
        f"{who}.of must be 'text', 'model' or 'mechanism'",
    )
    _hold(measure.role in ROLES, f"{who}.role must be one of {', '.join(ROLES)}")
    if specimen is None:
        _hold(measure.of == TEXT, f"{who} looks at a {measure.of}: give a specimen to look at")
        before = [Document(f"{NOTE} {number} has the code {SECRET}") for number in range(4)]
        after = [Document(f"{NOTE} {number} has the code tulip") for number in range(4)]
        specimen = Specimen(documents=after, originals=before)
    seen = tuple(specimen.documents)
    first, second = (take(measure, specimen, Randomness.reproducible(1)) for _ in range(2))
    _hold(
        bool(first.rows) or bool(first.details.get("none")),
        f"{who} gives no figure, and does not say why in details['none']",
    )
    _hold(
        first.rows == second.rows,
        f"{who} must give the same figures with the same randomness: draw from it alone",
    )
    _hold(tuple(specimen.documents) == seen, f"{who} must leave the documents as they were")
    written = json.dumps(first.as_dict(), ensure_ascii=False)
    for document in (*specimen.documents, *(specimen.originals or ())):
        _hold(document.text not in written, f"{who} writes a private text into its figures")


def check_method(
    method: str | TrainingMethod,
    *,
    settings: Mapping[str, object] | None = None,
    policy: Policy | None = None,
    model: str = "lstm",
) -> None:
    """A method of training, or its name: trained twice on a few notes, with tiny models.

    It must claim no more than it was asked for, charge every step of its plan, draw from nothing
    but the randomness that it is given, and write no text beside the model. Whether a step is worth
    what the plan charges for it cannot be seen here.
    """
    from sfumato.training.request import Request, train_model

    made = build_method(method, settings)
    who = type(made).__name__
    _hold(is_dataclass(made), f"{who} must be a dataclass: its fields are its settings")
    _hold(isinstance(getattr(made, "name", None), str), f"{who} needs a name")
    chosen = policy or (Digits() if made.needs_policy else None)
    request = Request(
        model=model,
        settings=dict(TINY[model]),
        method=made,
        protection=None if chosen is None else PolicyPromise(chosen),
        privacy=Privacy(
            epsilon=8.0 if made.adds_noise else math.inf, delta=0.01, epochs=1, batch_sizes=(3,)
        ),
        seed=1,
    )
    notes = [Document(f"{NOTE} {number} has the code {SECRET}{number}") for number in range(6)]
    with TemporaryDirectory() as folder:
        runs = [train_model(request, notes, RunFolder(Path(folder) / name)) for name in ("a", "b")]
        for run in runs:
            _check_run(who, run, adds_noise=made.adds_noise)
        first, second = (run.model.network.state_dict() for run in runs)
        _hold(
            all(bool((first[name] == second[name]).all()) for name in first),
            f"{who} must train the same model with the same seed: draw from the randomness alone",
        )


def _check_run(who: str, run: Run, *, adds_noise: bool) -> None:
    promised = run.guarantee.notion is not Notion.NONE
    _hold(promised or not adds_noise, f"{who} adds noise, and promises nothing")
    _hold(adds_noise or not promised, f"{who} adds no noise, and promises something")
    _hold(not promised or run.guarantee.epsilon <= 8.0, f"{who} exceeds the level asked for")
    charged = json.loads(run.files.ledger.read_text().splitlines()[-1]).get("charged", 0)
    _hold(charged == run.plan.steps, f"{who} must charge every step of its plan to the ledger")
    for written in (run.files.config, run.files.ledger, run.files.results, run.files.guarantee):
        found = written.read_text()
        for text in (NOTE, SECRET):
            _hold(text not in found, f"{who} writes private text into {written.name}")


def _travel(component: Any) -> Any:
    """A component as it arrives in another process."""
    return ForkingPickler.loads(ForkingPickler.dumps(component))


def _hold(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


def _check_words(mechanism: PointMechanism, space: Space) -> None:
    """Defined for every point, the unknown one included, and giving words of the vocabulary."""
    who = type(mechanism).__name__
    points = np.tile(np.arange(len(space) + 1, dtype=np.intp), 20)
    given = points.copy()
    outputs = mechanism.privatize(given, Randomness.secure())
    _hold(bool((given == points).all()), f"{who} must not change the points that it is given")
    _hold(outputs.shape == points.shape, f"{who} must give one output for each point")
    inside = bool(((outputs >= 0) & (outputs < len(space))).all())
    _hold(inside, f"{who} must give words of the vocabulary, never the unknown point")
    none = mechanism.privatize(points[:0], Randomness.secure())
    _hold(len(none) == 0, f"{who} must give nothing for nothing")
    over = OverVocabulary(points=mechanism)
    words = over.privatize(["", "CANARY-77", space.words[0]], Randomness.secure())
    _hold(set(words) <= set(space.words), f"{who} must replace every string, known or not")


def _refuses(kind: type[Any], settings: Mapping[str, object], space: Space, level: object) -> None:
    try:
        make_mechanism(kind, settings, space=space, epsilon=cast("float", level))
    except InvalidArgument as error:
        said = "epsilon" in str(error)
        _hold(said, f"{kind.__name__} refuses epsilon={level!r} without naming epsilon")
    else:
        raise AssertionError(f"{kind.__name__} must refuse epsilon={level!r} (InvalidArgument)")


def _check_noise(mechanism: PointMechanism) -> None:
    """New for every word, and drawn from the randomness that is passed in and nothing else."""
    who = type(mechanism).__name__
    points = np.zeros(500, np.intp)
    drawn = [mechanism.privatize(points, Randomness.reproducible(seed)) for seed in (1, 1, 2)]
    _hold(
        bool((drawn[0] == drawn[1]).all()),
        f"{who} must draw the same with the same randomness: it has another source of noise",
    )
    if all(len(set(one.tolist())) == 1 for one in drawn):
        several = {
            int(mechanism.privatize(points[:1], Randomness.reproducible(seed))[0])
            for seed in range(20)
        }
        _hold(len(several) == 1, f"{who} draws once for all words; each needs noise of its own")
        return  # it gives one word whatever happens, and needs no noise
    _hold(
        bool((drawn[0] != drawn[2]).any()),
        f"{who} must draw otherwise with other randomness: it brings a seed of its own",
    )
    blocks = {tuple(drawn[0][start : start + 50].tolist()) for start in range(0, 500, 50)}
    _hold(len(blocks) == 10, f"{who} repeats its noise; each word needs noise of its own")


def _check_copies(mechanism: object, who: str) -> None:
    copy = _travel(mechanism)
    _hold(type(copy) is type(mechanism), f"{who} must survive the way to another process")
    identity = mechanism_identity(mechanism)
    # Of a class in the script that is run the fields are not enough; in a file they would be.
    _hold(
        identity is not None or stands_in_script(type(mechanism)),
        f"{who} cannot be told from others, so no stopped run of it can be resumed: make it a "
        "frozen dataclass of numbers, names and spaces, or give it a method identity()",
    )
    keyed = hasattr(mechanism, "key")  # a copy has a key of its own
    _hold(keyed or mechanism_identity(copy) == identity, f"a copy of {who} must have its identity")


def _check_stretches(mechanism: StretchMechanism) -> None:
    """It says what shows, replaces what is found and nothing else, and claims what holds."""
    who = type(mechanism).__name__
    guarantee = mechanism.guarantee()
    unproven = guarantee.notion is Notion.NONE
    _hold(not (unproven and guarantee.for_release), f"{who} has no guarantee: not for release")
    _hold(guarantee.sentence().endswith("."), f"the guarantee of {who} must be a sentence")
    # Under one key outputs do depend on the original; over all keys they must not.
    if guarantee.notion is Notion.INDEPENDENT and not isinstance(mechanism, Keyed):
        _check_independence(mechanism, who)
    _hold(bool(guarantee.leaks), f"{who} must say what its output shows (leaks)")
    _hold(mechanism.replace([], Randomness.secure()) == [], f"{who} must give nothing for nothing")
    selective = Selective(policy=Everything(), mechanism=mechanism)
    for result in selective.privatize([Document(text) for text in TEXTS], Randomness.secure()):
        for edit in result.edited.edits:
            _hold(edit.replacement.isprintable(), f"{who} must put in what can be printed")
    _check_copies(mechanism, who)


def _check_documents(mechanism: DocumentMechanism) -> None:
    """It states what holds, is defined for every text, and draws from nothing but the randomness.

    A document must come out as it would by itself. That is looked at with draws that are the same:
    the first of several documents, and the only one.
    """
    who = type(mechanism).__name__
    guarantee = mechanism.guarantee()
    _hold(isinstance(guarantee, Guarantee), f"{who}.guarantee() must give a Guarantee")
    unproven = guarantee.notion is Notion.NONE
    _hold(not (unproven and guarantee.for_release), f"{who} has no guarantee: not for release")
    _hold(guarantee.sentence().endswith("."), f"the guarantee of {who} must be a sentence")
    _hold(mechanism.rewrite([], Randomness.secure()) == [], f"{who} must give nothing for nothing")
    drawn = [mechanism.rewrite(TEXTS, Randomness.reproducible(seed)) for seed in (1, 1, 2)]
    _hold(
        all(len(one) == len(TEXTS) and all(isinstance(text, str) for text in one) for one in drawn),
        f"{who} must give one text for each document",
    )
    _hold(
        all(text.isprintable() for one in drawn for text in one),
        f"{who} must write what can be printed, on one line",
    )
    _hold(
        drawn[0] == drawn[1],
        f"{who} must draw the same with the same randomness: it has another source of noise",
    )
    many = [mechanism.rewrite([TEXTS[2]] * 20, Randomness.reproducible(seed)) for seed in (1, 2)]
    _hold(
        many[0] != many[1] or len({*many[0], *many[1]}) == 1,
        f"{who} must draw otherwise with other randomness: it brings a seed of its own",
    )
    _hold(
        len(set(many[0])) > 1 or len({*many[0], *many[1]}) == 1,
        f"{who} draws once for all documents; each needs draws of its own",
    )
    alone = mechanism.rewrite([TEXTS[2]], Randomness.reproducible(3))
    beside = mechanism.rewrite([TEXTS[2], TEXTS[3], "x"], Randomness.reproducible(3))
    _hold(alone[0] == beside[0], f"what {who} makes of a document must not depend on the others")
    _check_copies(mechanism, who)


def _check_independence(mechanism: StretchMechanism, who: str) -> None:
    """With the same draws, the same comes out for any original."""
    for label, texts in ORIGINALS.items():
        found = {
            mechanism.replace(
                [Stretch(0, len(text), text, Span(0, len(text), label))], Randomness.reproducible(5)
            )[0]
            for text in texts
        }
        _hold(
            len(found) == 1, f"{who} claims independence, but what it puts in depends on the text"
        )


def _check_spans(who: str, text: str, spans: list[Any]) -> None:
    _hold(spans == sorted(spans), f"{who} must give its spans in order")
    for span in spans:
        _hold(0 <= span.start < span.end <= len(text), f"{who} gives a span outside the text")
        named = bool(span.label and span.rule and span.reason)
        _hold(named, f"{who} must give each span a label, a rule and a reason")
        words = {word for word in Words.of(text[span.start : span.end]) if len(word) >= QUOTED}
        said = {*Words.of(span.reason), *Words.of(span.rule), *Words.of(span.label)}
        _hold(not words & said, f"{who} quotes the text in a reason: reasons are shown and logged")


def _check_identity(policy: Policy, copy: Policy, public: set[str]) -> None:
    """It has one, and what is private in it is not shown; ``public`` are names and labels."""
    who, identity = type(policy).__name__, identity_of(policy)
    if identity is None:
        raise AssertionError(
            f"{who} cannot be told from others, so no stopped run of it can be resumed and no two "
            "guarantees about it add up: give it a method identity() of its own, which tells all "
            "that it holds"
        )
    _hold(identity_of(copy) == identity, f"a copy of {who} must have its identity")
    _hold(bool(identity.spelled), f"the identity of {who} must be made of texts and numbers")
    # What it says itself: the code of a class that is not ours is private in any case.
    said = policy.identity() if isinstance(policy, Identified) else None
    if said is not None and said.private:
        shown = f"{policy!r} {policy.name}"
        for secret in _strings(said.parts):
            hidden = len(secret) < QUOTED or secret in public or secret not in shown
            _hold(hidden, f"{who} shows in its name or repr what its identity calls private")


def _strings(parts: object) -> Iterable[str]:
    if isinstance(parts, str):
        yield parts
    elif isinstance(parts, (tuple, list)):
        for one in parts:
            yield from _strings(one)


def _check_scores(who: str, name: str, scores: Scores) -> None:
    _hold(isinstance(scores, Scores), f"{who}.score must give Scores")
    _hold(scores.attack == name, f"the scores of {who} must bear its name, {name!r}")
    _hold(scores.knowledge.endswith("."), f"{who} must say what the attacker knows, in a sentence")
    _hold(bool(scores.control.figures), f"{who} needs a control: the same where nothing can leak")
    for one in (*scores.figures, *scores.control.figures):
        _hold(_in_order(one), f"{one.metric} of {who} must lie inside its interval")
    compared = {one.metric for one in scores.control.figures} & {
        one.metric for one in scores.figures
    }
    _hold(bool(compared), f"the control of {who} must have a figure that the attack has, too")
    _hold(bool(scores.chance), f"{who} must say what chance would score")


def _in_order(one: Measured) -> bool:
    low = one.value if one.low is None else one.low
    high = one.value if one.high is None else one.high
    return low <= one.value <= high or math.isnan(one.value)


def _texts_of(inputs: Inputs) -> Iterable[str]:
    for path in (inputs.members, inputs.others, inputs.originals):
        if path is not None and path.is_file():
            yield from (one.text for one in inputs.documents(path) if len(one.text) > 20)
