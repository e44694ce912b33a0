"""What every attack is: inputs in, scores out.

An attack is a frozen dataclass; its fields are its settings (``--set KEY=VALUE``). It is used in
two steps, so that a library user can bring objects and a command line brings paths::

    target, data = attack.opened(inputs)           # paths to objects; explains what is missing
    scores = attack.score(target, data, randomness)

Randomness is for sampling candidates and resampling intervals, never for noise.

What else is to be known about an attack, the class declares: ``needs`` says which inputs it takes
and how studies apply it, ``chart(scores)`` draws one result, and ``chapter(attempts)`` says what a
report shows of many. A report asks for these and knows no attack by name. A file that only one
attack needs is no input but a setting of type ``FileToRead``, and takes no line elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sfumato.charts.chapter import Against, Chapter, Drawing, Listing, Topic
from sfumato.charts.numbers import interval
from sfumato.core.errors import BadInput, InvalidArgument, MissingInput, StorageFailed
from sfumato.core.randomness import Randomness
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.results.scores import Scores
from sfumato.text.document import Document

Target_contra = TypeVar("Target_contra", contravariant=True)
Data_contra = TypeVar("Data_contra", contravariant=True)

Done = Callable[[int, int], None]
"""Told how much is done, and of how much in all."""

INPUTS = ("members", "others", "originals", "canaries", "references")
# A chart for every attempt would fill pages.
MOST_DRAWN = 6


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Everything a user may hand to an attack, as paths; each attack takes what it needs.

    ``target`` is the folder of a training run, the folder of a model, or a privatized file.
    ``members`` is the text a model was trained on, ``others`` text of the same kind that it has not
    seen, ``originals`` what a privatized file was made from, ``canaries`` the manifest that
    ``sfumato data canaries`` wrote, ``references`` models of the same kind trained without the
    members. ``cache`` is a folder for token scores, as private as the text they were measured on.
    With ``label`` only documents of that label count, which the layout must name a field for.
    """

    target: Path
    members: Path | None = None
    others: Path | None = None
    originals: Path | None = None
    canaries: Path | None = None
    references: tuple[Path, ...] = ()
    cache: Path | None = None
    layout: Layout = field(default_factory=Layout)
    file_format: str | None = None
    label: str | None = None

    def only(self, names: Collection[str]) -> Inputs:
        """The same without the inputs that are not named."""
        hidden: dict[str, Any] = {name: None for name in INPUTS if name not in names}
        return replace(self, **hidden | ({"references": ()} if "references" in hidden else {}))

    def documents(self, path: Path) -> list[Document]:
        """The documents of one of the files."""
        if not path.exists():
            raise StorageFailed(f"there is no file {path}")
        found = list(Source.of(path, self.layout, file_format=self.file_format).documents())
        if self.label is not None:
            found = [one for one in found if one.labels == (self.label,)]
        if not found:
            raise BadInput(f"{path} holds no document" + (" of that label" if self.label else ""))
        return found


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What an attack takes, and how it is applied.

    ``inputs`` are the fields of ``Inputs`` that it takes; it is given no other. ``known`` are
    settings that whoever made the target fills in where they are empty, because an attacker knows
    them: in a study the ``policy`` and the ``vectors`` of a privatized text, and the list of
    ``coins``. ``by_group`` says whether it can look at some documents alone; not so if it looks at
    planted sentences only, which belong to no group. With ``compares`` it tells members from
    others, and a group needs enough of both. ``word_by_word`` attacks guess the word behind each
    replacement. Figures ``about_the_data`` say how the texts are without any method: they are the
    same at every level, are no leakage of any, and stay with the scores.
    """

    inputs: tuple[str, ...] = INPUTS
    known: tuple[str, ...] = ()
    by_group: bool = True
    compares: bool = False
    word_by_word: bool = False
    about_the_data: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in self.inputs:
            if name not in INPUTS:
                raise InvalidArgument(
                    f"{name!r} is no input of attacks, which are {', '.join(INPUTS)}; make it a "
                    "setting of type FileToRead"
                )


def needs_of(attack: Attack[Any, Any] | type[Any]) -> Needs:
    """What an attack declares; one that declares nothing takes everything."""
    found = getattr(attack, "needs", None)
    return found if isinstance(found, Needs) else Needs()


class Attack(Protocol[Target_contra, Data_contra]):
    """One way to learn what should not be learned.

    ``name`` is the catalog's; ``target`` says what is attacked, a ``model`` or a ``text``.
    ``missing`` gives a sentence about what is lacking, and how to make it, or None; it looks at
    which paths are given and what kind of thing they are, and is quick.
    """

    @property
    def name(self) -> str:
        """As in the catalog."""
        ...

    @property
    def target(self) -> str:
        """What is attacked: a model, or a privatized text."""
        ...

    def missing(self, inputs: Inputs) -> str | None:
        """Why the attack cannot be run on these inputs, and what would help."""
        ...

    def opened(self, inputs: Inputs) -> tuple[Any, Any]:
        """The target and the data behind the paths."""
        ...

    def score(
        self,
        target: Target_contra,
        data: Data_contra,
        randomness: Randomness,
        done: Done | None = None,
    ) -> Scores:
        """Attack."""
        ...


def run_attack(
    attack: Attack[Any, Any], inputs: Inputs, randomness: Randomness, done: Done | None = None
) -> Scores:
    """Open and score, or say what is missing."""
    inputs = inputs.only(needs_of(attack).inputs)
    lacking = attack.missing(inputs)
    if lacking is not None:
        raise MissingInput(f"{attack.name}: {lacking}")
    target, data = attack.opened(inputs)
    return attack.score(target, data, randomness, done)


@dataclass(frozen=True, kw_only=True)
class Attempt(Against):
    """One result of an attack in a study."""

    scores: Scores


def chapter_of(name: str, attack: type[Any], attempts: Sequence[Attempt]) -> Chapter | None:
    """What an attack shows of its results: what it says itself, or else its chart of each."""
    own = getattr(attack, "chapter", None)
    if own is not None:
        found: Chapter | None = own(attempts)
        return found
    if not hasattr(attack, "chart") or not attempts:
        return None
    made = attack()
    first = min(one.seed for one in attempts)
    shown = [one for one in attempts if one.seed == first][:MOST_DRAWN]
    topic = Topic(
        name="attack-" + re.sub(r"[^a-z0-9]+", "-", name.lower()),
        title=f"What the attack {name} found",
        lead=f"Drawn are {len(shown)} of {len(attempts)} results, with seed {first}.",
    )
    return Chapter(topic=topic, parts=[_drawing(made, one) for one in shown])


def _drawing(attack: Any, attempt: Attempt) -> Drawing:
    scores = attempt.scores
    rows = [
        (one.metric, one.value, interval(one.low, one.high), scores.chance.get(one.metric), one.n)
        for one in scores.figures
    ]
    head = ("figure", "value", "95 % interval", "by chance", "n")
    return Drawing(
        title=f"{scores.attack} against {attempt.said}.",
        description=scores.knowledge,
        listing=Listing(caption=f"{scores.attack} against {attempt.said}", head=head, rows=rows),
        draw=lambda: attack.chart(scores),
    )
