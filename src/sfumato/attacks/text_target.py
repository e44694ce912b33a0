"""A privatized text as a target: the text, and how it was made as far as that is public.

Policy, mechanism, level and vectors are in the side file because they are not secret: a guarantee
must not depend on hiding them. So an attacker knows them, and the mechanism is built again from the
side file. What may be private, such as a pattern or a word list, is not in the side file. The
person who evaluates an attack passes it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.attacks.attack import Inputs
from sfumato.catalog import entries
from sfumato.core.errors import BadInput, InvalidArgument, MissingInput, SfumatoError
from sfumato.core.files import reading
from sfumato.core.json import read_object
from sfumato.core.own_code import names_code
from sfumato.mechanisms.build import replaces_stretches, rewrites_documents
from sfumato.mechanisms.levels import Levels
from sfumato.mechanisms.selective import Selective
from sfumato.mechanisms.vocabulary import OverVocabulary
from sfumato.policies.combine import Minus, Union
from sfumato.policies.parsing import PlaceFile, parse_policy, with_files
from sfumato.policies.policy import Policy
from sfumato.releases.privatizer import Privatizer
from sfumato.representations.files import holds_vectors
from sfumato.text.document import Document
from sfumato.vectors.load import NAME, default_space, load_vectors
from sfumato.vectors.space import Space

PLUS, MINUS = " + ", " − "
_COMPARED = ("mechanism_settings", "epsilon", "vectors", "unknown", "case")


@dataclass(frozen=True, eq=False, repr=False)
class TextTarget:
    """Privatized documents and the release that made them.

    ``selected`` is how many words went through the mechanism, if the side file says so; ``seeded``
    whether a seed was used, with which all noise could be undone.
    """

    documents: tuple[Document, ...]
    release: Selective | Levels
    selected: int | None = None
    seeded: bool = False

    @property
    def mechanisms(self) -> tuple[OverVocabulary, ...]:
        """The word mechanism, or the mechanism of each level, the strictest first."""
        release = self.release
        inner = (
            [level.mechanism for level in release.levels]
            if isinstance(release, Levels)
            else [release.mechanism]
        )
        found = tuple(one for one in inner if isinstance(one, OverVocabulary))
        if len(found) != len(inner):
            raise InvalidArgument(
                "this text was not privatized word by word over public vectors, so there is no "
                "word to infer from each replacement"
            )
        return found

    def __repr__(self) -> str:
        # What the policy did not select is unprotected text.
        return f"TextTarget({len(self.documents)} documents)"


@dataclass(frozen=True, kw_only=True)
class Known:
    """What the person who evaluates an attack knows besides the side file.

    ``policy`` is written as on the command line: several policies are joined by ' + ', exceptions
    follow after ' − ' (or ' - '). ``vectors`` is a file.
    """

    policy: str = field(default="", repr=False)  # it may be a pattern
    vectors: str = ""


def side_path(path: Path) -> Path:
    """The path of the side file of a privatized file."""
    return path.with_name(path.name + ".guarantee.json")


def lacks_originals(inputs: Inputs) -> str | None:
    """What is missing of a privatized file and its originals; None if nothing is."""
    lacking = not_privatized(inputs.target)
    if lacking is None and inputs.originals is None:
        return (
            f"the text that {inputs.target} was made from is needed, to see which guesses are "
            "right: `originals=IN` (the file that was privatized)"
        )
    return lacking


def refuse_other_originals(originals: Sized, privatized: Sized) -> None:
    """Refuse originals of which there are more or fewer than privatized documents."""
    if len(originals) != len(privatized):
        raise BadInput(
            f"the originals are {len(originals):,} documents and the privatized text has "
            f"{len(privatized):,}: they must be the same documents in the same order"
        )


def not_privatized(path: Path) -> str | None:
    """Why a path cannot be attacked as a privatized file, with what to do; None if it can."""
    make = "`sfumato.privatize(IN, OUT, epsilon=5)` writes one; then attack OUT"
    if path.is_dir():
        return f"{path} is a folder; this attack is on a privatized file: {make}"
    if not path.is_file():
        return f"there is no file {path}: {make}"
    if not side_path(path).is_file():
        return (
            f"{side_path(path)} is missing, which says how {path} was privatized; it is written "
            f"beside every privatized file ({make})"
        )
    if holds_vectors(path):
        return (
            f"{path} holds vectors, and this attack reads text; the attacks whose names begin with "
            "'vector-' are for such files"
        )
    return None


def open_text(path: Path, documents: Sequence[Document], known: Known) -> TextTarget:
    """A privatized file and, from its side file, the release that made it."""
    settings, content = read_side_file(side_path(path))
    name = str(settings.get("mechanism"))
    # A side file may come from anybody: names in it are looked up, and no code in it is run.
    if name not in entries("mechanisms"):
        raise MissingInput(
            f"{side_path(path)} names the mechanism {name!r}, which is not in the catalog; build "
            "a TextTarget in Python, with the mechanism itself"
        )
    if rewrites_documents(name):
        raise MissingInput(
            f"{path} was made by {name!r}, which rewrites whole documents: no word stands in the "
            "place of another, and this attack guesses words. The attacks 'reidentification', "
            "'authorship' and 'attribute-inference' are for such files"
        )
    if replaces_stretches(name):
        how = (
            "treats each type by a mechanism of its own, most of them as a whole"
            if name == "auto"
            else "replaces what was found as a whole"
        )
        raise MissingInput(
            f"{path} was made by {name!r}, which {how}: there is no replacement for each word, "
            "and this attack guesses words. The attacks 'context-inference' and 'matching' are for "
            "such files"
        )
    with reading(side_path(path), "the side file of a privatized text"):
        privatizer = _privatizer(name, settings, known)
        _check_same(privatizer, settings, content, side_path(path))
        counts = content.get("counts") or {}
        counted = [counts.get(name) for name in ("privatized_words", "uncovered_words")]
    known_counts = [one for one in counted if isinstance(one, int)]
    return TextTarget(
        tuple(documents),
        privatizer.selective,
        selected=sum(known_counts) if len(known_counts) == 2 else None,
        seeded=settings.get("reproducible") is True,
    )


def policy_of(written: str, *, typed: bool = False) -> Policy:
    """A policy from its spec, or from the name that a side file shows.

    A side file may come from anybody: only what a user has ``typed`` may name code to run.

    >>> policy_of("digits + pii − everything").name
    '(digits + pii) − everything'
    """
    if names_code(written) and not typed:
        raise InvalidArgument("a side file may name a policy, but cannot bring its code")
    chosen, *without = _sides(written)
    if len(without) > 1:
        raise InvalidArgument("a policy is written 'A + B − C + D', with one minus sign at most")
    found = _union(chosen)
    return Minus(found, _union(without[0])) if without else found


def policy_with_files(written: str, place: PlaceFile) -> str:
    """The same policy as text, with each file that it names moved to where ``place`` says.

    >>> policy_with_files("(digits + lexicon:a) − lexicon:b", lambda path, purpose: f"/in/{path}")
    'digits + lexicon:/in/a − lexicon:/in/b'
    """
    return MINUS.join(
        PLUS.join(with_files(one, place) for one in _parts(side)) for side in _sides(written)
    )


def _sides(written: str) -> list[str]:
    return written.replace(" - ", MINUS).split(MINUS)


def _parts(written: str) -> list[str]:
    stripped = written.strip()
    if stripped.startswith("(") and stripped.endswith(")"):
        stripped = stripped[1:-1]
    return [one.strip() for one in stripped.split(PLUS)]


def _union(written: str) -> Policy:
    policies = [parse_policy(one) for one in _parts(written)]
    return policies[0] if len(policies) == 1 else Union(tuple(policies))


def read_side_file(path: Path) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The settings in the side file of a privatized text, and all of it."""
    content = read_object(path, "the side file of a privatized text")
    settings = content.get("settings")
    if not isinstance(settings, dict):
        raise BadInput(f"{path} is not the side file of a privatized text")
    return settings, content


def _privatizer(name: str, settings: Mapping[str, Any], known: Known) -> Privatizer:
    levels: Any = [(one["epsilon"], one["policy"]) for one in settings.get("levels") or ()]
    recorded = known.policy or str(settings.get("policy"))
    chosen: dict[str, Any] = {"policy": "pii", "epsilon": None}
    if levels and known.policy:
        raise InvalidArgument("the side file gives a policy for each level; policy cannot be set")
    if levels:
        levels = [(epsilon, read_policy(str(policy))) for epsilon, policy in levels]
    else:
        policy = read_policy(recorded, typed=bool(known.policy))
        chosen = {"policy": policy, "epsilon": settings.get("epsilon")}
    return Privatizer(
        mechanism=name,
        levels=levels,
        vectors=_space(str(settings.get("vectors")), known.vectors),
        unknown=str(settings.get("unknown")),
        case=str(settings.get("case")),
        search=str(settings.get("search")),
        settings=settings.get("mechanism_settings") or {},
        **chosen,
    )


def read_policy(written: str, *, typed: bool = False) -> Policy:
    """A policy from a side file, or as somebody typed it; an error does not quote it."""
    try:
        return policy_of(written, typed=typed)
    except SfumatoError:
        # The text may contain a private pattern, so it is not quoted.
        pass
    raise MissingInput(
        "the side file does not show the policy in full (patterns and word lists may be private), "
        "or what was given is not a policy; it is needed to tell which words were privatized: "
        "`settings={'policy': 'regex:PATTERN'}`, `settings={'policy': 'pii:email,phone'}`, "
        "`settings={'policy': 'A + B − C'}`"
    )


def _space(recorded: str, given: str) -> Space:
    if not given and recorded == NAME:
        return default_space()
    if not given:
        raise MissingInput(
            f"the text was privatized over the vectors {recorded!r}; say where they are: "
            "`settings={'vectors': FILE}`"
        )
    space = default_space() if given == NAME else load_vectors(given)
    if space.name != recorded:
        raise BadInput(f"the text was privatized over {recorded!r}, not over {space.name!r}")
    return space


def _check_same(
    privatizer: Privatizer, settings: Mapping[str, Any], content: Mapping[str, Any], path: Path
) -> None:
    """Refuse a mechanism that differs from the side file: a wrong attacker would look harmless."""
    built = privatizer.public_settings()
    differing = [name for name in _COMPARED if built.get(name) != settings.get(name)]
    stated = (content.get("guarantee") or {}).get("uncovered") or []
    target = TextTarget((), privatizer.selective)
    for mechanism in target.mechanisms:
        own = mechanism.points.guarantee().uncovered
        differing += ["what is not covered"] if not set(own) <= set(stated) else []
    if differing:
        raise MissingInput(
            f"the mechanism cannot be built again from {path}, which does not hold all of its "
            f"settings (it differs in {', '.join(dict.fromkeys(differing))}); build a TextTarget "
            "in Python, with the mechanism itself"
        )
