"""What every attack is: inputs in, scores out.

An attack is a frozen dataclass; its fields are its settings (``--set KEY=VALUE``). It is used in
two steps, so that a library user can pass objects and the command line paths::

    target, data = attack.opened(inputs)           # from paths to objects; says what is missing
    scores = attack.score(target, data, randomness)

Randomness is for sampling candidates and resampling intervals, never for noise.

The class declares everything else about an attack: ``needs`` says which inputs it takes and how
studies apply it, ``chart(scores)`` draws one result, and ``chapter(attempts)`` says what a report
shows of many. Reports use these and know no attack by name. A file that only one attack needs is
not an input but a setting of type ``FileToRead``; nothing else has to know about it.
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
"""Called with how much is done, and the total."""

INPUTS = ("members", "others", "originals", "canaries", "references")
# A chart for every attempt would fill pages.
MOST_DRAWN = 6


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Everything a user may pass to an attack, as paths; each attack takes what it needs.

    ``target`` is the folder of a training run, the folder of a model, or a privatized file.
    ``members`` is the text a model was trained on, ``others`` text of the same kind that it was not
    trained on, ``originals`` what a privatized file was made from, ``canaries`` the manifest that
    ``sfumato data canaries`` wrote, ``references`` models of the same kind trained without the
    members. ``cache`` is a folder for token scores, as private as the text they were measured on.
    With ``label`` only documents of that label count; the layout must name the label field.
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
        """The same inputs, without those that are not in ``names``."""
        hidden: dict[str, Any] = {name: None for name in INPUTS if name not in names}
        return replace(self, **hidden | ({"references": ()} if "references" in hidden else {}))

    def documents(self, path: Path) -> list[Document]:
        """The documents of one of the files."""
        if not path.exists():
            raise StorageFailed(f"there is no file {path}")
        found = list(Source.of(path, self.layout, file_format=self.file_format).documents())
        if self.label is not None:
            found = [one for one in found if one.labels[-1:] == (self.label,)]
        if not found:
            raise BadInput(f"{path} holds no document" + (" of that label" if self.label else ""))
        return found


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What an attack takes, and how it is applied.

    ``inputs`` are the fields of ``Inputs`` that it takes; it is given no other. ``known`` are
    settings that a study fills in where they are empty, because an attacker knows them: the
    ``policy`` and the ``vectors`` of a privatized text, and the list of ``coins``. ``by_group``
    says whether it can attack a group of documents alone; it cannot if it uses only planted
    sentences, which belong to no group. With ``compares`` it tells members from others, and a group
    needs enough of both. ``word_by_word`` attacks guess the word behind each replacement. Figures
    ``about_the_data`` describe the texts without any method: they are the same at every level,
    count as no leakage, and stay with the scores.
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
                    f"{name!r} is not an input of attacks ({', '.join(INPUTS)}); make it a "
                    "setting of type FileToRead"
                )

    def is_about_the_data(self, metric: str) -> bool:
        """Whether a figure describes the texts; one of several alike may say which, after a comma.

        >>> Needs(about_the_data=("originals",)).is_about_the_data("originals, gender")
        True
        """
        return any(metric == one or metric.startswith(f"{one}, ") for one in self.about_the_data)


def needs_of(attack: Attack[Any, Any] | type[Any]) -> Needs:
    """What an attack declares; an attack without a declaration takes everything."""
    found = getattr(attack, "needs", None)
    return found if isinstance(found, Needs) else Needs()


class Attack(Protocol[Target_contra, Data_contra]):
    """One attack.

    ``name`` is its name in the catalog; ``target`` says what is attacked, a ``model`` or a
    ``text``. ``missing`` returns a sentence about what is missing and how to make it, or None. It
    only checks which paths are given and what kind they are, so it is fast.
    """

    @property
    def name(self) -> str:
        """The name in the catalog."""
        ...

    @property
    def target(self) -> str:
        """What is attacked: a model, or a privatized text."""
        ...

    def missing(self, inputs: Inputs) -> str | None:
        """Why the attack cannot run on these inputs, and what would help; None if it can."""
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
        """Run the attack."""
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
    if done is not None:
        done(0, 1)  # time counts from here: loading tells nothing about how long the attack takes
    return attack.score(target, data, randomness, done)


@dataclass(frozen=True, kw_only=True)
class Attempt(Against):
    """One result of an attack in a study."""

    scores: Scores


def chapter_of(name: str, attack: type[Any], attempts: Sequence[Attempt]) -> Chapter | None:
    """What a report shows of an attack: its own chapter, or else a chart of each result."""
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
        lead=f"{len(shown)} of {len(attempts)} results are shown, with seed {first}.",
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
