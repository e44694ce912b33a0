"""What several verbs are given in the same way: policies, vectors, levels, words and seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sfumato.core.checks import pairs, positive
from sfumato.core.errors import InvalidArgument
from sfumato.core.progress import Advance, progress
from sfumato.core.randomness import Randomness
from sfumato.policies.policy import Policy

if TYPE_CHECKING:
    from sfumato.files.source import Source
    from sfumato.metrics.population import Population
    from sfumato.text.document import Document
    from sfumato.vectors.space import Space

Settings = Mapping[str, object]
Policies = str | Policy | Sequence[str | Policy]


class HasFolder(Protocol):
    """What was made in a folder and knows where: a run, a study."""

    @property
    def folder(self) -> Path:
        """Where it lies."""
        ...


class HasPath(Protocol):
    """What was written to a file and knows where: a release."""

    @property
    def path(self) -> Path:
        """Where it lies."""
        ...


Placed = str | Path | HasFolder | HasPath


def path_of(given: Placed) -> Path:
    """The path that was given, or the one of the object that was."""
    if isinstance(given, (str, Path)):
        return Path(given)
    return Path(getattr(given, "folder", None) or given.path)  # type: ignore[union-attr]


def draws_from(seed: int | None) -> Randomness:
    """Secure randomness, or the same draws again where a seed is given."""
    return Randomness.secure() if seed is None else Randomness.reproducible(seed)


def open_space(vectors: str | Path | Space | None) -> Space:
    """The public space that was named; the embedded one where none was."""
    from sfumato.vectors.load import NAME, default_space, load_vectors
    from sfumato.vectors.space import Space

    if isinstance(vectors, Space):
        return vectors
    return default_space() if vectors in (None, NAME) else load_vectors(str(vectors))


def read_vectors(
    vectors: str | Path | Space | Mapping[str, str | Path | Space] | None,
) -> str | Space | dict[str, str | Space] | None:
    """Vectors as they may be given: paths as text, for each language where there are several."""
    if isinstance(vectors, Mapping):
        return {code: str(one) if isinstance(one, Path) else one for code, one in vectors.items()}
    return str(vectors) if isinstance(vectors, Path) else vectors


def several(given: Policies | None) -> list[str | Policy]:
    """One policy or several, as a list."""
    if given is None:
        return []
    if isinstance(given, (list, tuple)):
        return list(given)
    return [given]  # type: ignore[list-item]  # what is no policy is refused where it is used


def split_settings(settings: Settings | None) -> tuple[dict[str, object], dict[str, object]]:
    """Settings of the mechanism, and those of policies, which are written POLICY.KEY.

    >>> split_settings({"lambda": 0.3, "pii.regions": "DE"})
    ({'lambda': 0.3}, {'pii.regions': 'DE'})
    """
    given = pairs("settings", settings)
    of_policies = {key: value for key, value in given.items() if "." in key}
    return {key: value for key, value in given.items() if key not in of_policies}, of_policies


def refuse_mechanism_settings(settings: Settings) -> None:
    """For verbs without a mechanism: only settings of policies make sense there."""
    for key in settings:
        raise InvalidArgument(f"the setting {key!r} names no policy; write POLICY.{key}")


def refuse_policy_settings(settings: Settings, why: str) -> None:
    """For verbs without a policy."""
    if settings:
        raise InvalidArgument(f"{why}: settings take no POLICY.KEY here")


def default_policy(mechanism: object) -> str:
    """What is selected where nobody says it: personal data, or all of a text that is rewritten.

    >>> default_policy("auto"), default_policy("sentences")
    ('pii', 'everything')
    """
    from sfumato.mechanisms.build import rewrites_documents
    from sfumato.mechanisms.mechanism import DocumentMechanism

    rewrites = (
        rewrites_documents(mechanism)
        if isinstance(mechanism, str)
        else isinstance(mechanism, DocumentMechanism)
    )
    return "everything" if rewrites else "pii"


def choose_policy(
    policy: Policies | None, exclude: Policies = (), settings: Settings | None = None
) -> Policy | None:
    """The policy that was asked for, if any was: names and objects are put together."""
    from sfumato.policies.parsing import combine_policies

    chosen, without = several(policy), several(exclude)
    if not (chosen or without or settings):
        return None
    return combine_policies(chosen or ["everything"], without, settings or {})


@dataclass(frozen=True)
class Selection:
    """What is selected and how strongly: a policy at one level, or several levels."""

    policy: str | Policy = "pii"
    epsilon: float | None = None
    levels: Sequence[tuple[float, Policy]] = ()


def choose_selection(
    policy: Policies | None,
    epsilon: float | None,
    level: Sequence[tuple[float, str | Policy]],
    exclude: Policies,
    settings: Settings | None,
) -> tuple[Selection, dict[str, object]]:
    """Policies and levels as a privatizer takes them, and the settings that are its mechanism's.

    The two ways of saying what is selected, by a policy or by levels, do not mix.
    """
    own, of_policies = split_settings(settings)
    if not level:
        chosen = choose_policy(policy, exclude, of_policies)
        if chosen is None:
            raise InvalidArgument("say what is sensitive: `policy=...`, such as pii")
        return Selection(policy=chosen, epsilon=epsilon), own
    if policy or epsilon is not None:
        raise InvalidArgument(
            "`level=...` says both what is selected and how strongly: leave out `policy=...` and "
            "`epsilon=...`"
        )
    from sfumato.policies.parsing import level_policies

    found = level_policies(list(level), several(exclude), of_policies)
    return Selection(levels=found), own


def levels_of(epsilon: float | Sequence[float]) -> list[float]:
    """Levels, smallest first, each once.

    >>> levels_of([5, 1, 10, 5]), levels_of(2)
    ([1.0, 5.0, 10.0], [2.0])
    """
    given = [epsilon] if isinstance(epsilon, (int, float)) else list(epsilon)
    if not given:
        raise InvalidArgument("give at least one epsilon")
    return sorted({positive("epsilon", one) for one in given})


@dataclass(frozen=True)
class WordSource:
    """Where the words to look at come from: a file, a policy, both or neither."""

    source: Source | None = None
    policy: Policy | None = None

    @property
    def private(self) -> bool:
        """Whether the words are those of somebody's own text or list."""
        return self.source is not None or self.policy is not None

    def population(self, space: Space) -> Population:
        """The words, or frequent public ones where nothing was named."""
        from sfumato.metrics.population import alone_selected, frequent_words, select_words
        from sfumato.policies.patterns import Everything

        if not self.private:
            return frequent_words(space)
        policy = self.policy or Everything()
        if self.source is None:
            return alone_selected(policy, space)
        return select_words(_documents(self.source), policy, space)


@contextmanager
def counting(label: str, total: int | None) -> Iterator[Advance]:
    """A progress bar for work that reports how much was added."""
    reached = 0
    with progress(label, total, unit_is_bytes=False) as advance:

        def done(added: int) -> None:
            nonlocal reached
            reached += added
            advance(reached)

        done(0)  # time counts from here, so that the first report tells how long all of it takes
        yield done


def read_documents(
    corpus: str | Path,
    *,
    field: str = "text",
    author_field: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    header: bool = True,
) -> list[Document]:
    """All documents of a file, with a bar."""
    from sfumato.files.dialect import Dialect
    from sfumato.files.layout import Layout
    from sfumato.files.source import Source

    layout = Layout(
        field=field,
        encoding=encoding,
        author_field=author_field,
        dialect=Dialect(header=header),
    )
    return list(_documents(Source.of(str(corpus), layout, file_format=format)))


def _documents(source: Source) -> Iterator[Document]:
    with progress("reading", source.size) as advance, source.opened() as (chunks, place):
        for chunk in chunks:
            yield from chunk.documents()
            advance(place())
