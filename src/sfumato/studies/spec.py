"""A study as a TOML file describes it: a corpus, methods with grids, attacks, measures, seeds.

Every key is checked before anything is computed: an unknown one is an error with the nearest one
named, and what cannot go together is said with what to do. Paths are relative to the file;
``${NAME}`` in one is an environment variable.

A study to begin with: every table explained in the file itself, and ready to run.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, time
from importlib.resources import files
from pathlib import Path
from typing import Any
from unicodedata import category

from sfumato.catalog import find
from sfumato.core.checks import MOST_DOCUMENTS, at_least, one_of
from sfumato.core.errors import BadInput, InvalidArgument, StorageFailed, UnknownName
from sfumato.core.files import from_home, refuse_existing, write_whole
from sfumato.core.settings import READS, WRITES
from sfumato.corpora.canaries import MOST_DIGITS, Canary
from sfumato.corpora.wikitext import RECORDS
from sfumato.models.name import HUB_NAME
from sfumato.results.row import ANCHORS
from sfumato.studies.doors import Doors
from sfumato.studies.tables import table

GENERATED, WIKITEXT, FILE = "customersim", "wikitext", "file"
CORPORA = (GENERATED, WIKITEXT, FILE)
GENERATED_GROUPS = "label"
# Figures are written as columns of fixed types, and numbers of 64 bits end here.
LARGEST_SEED = 2**63 - 1
DEEPEST = 32
_VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True, kw_only=True)
class CorpusSettings:
    """Where documents come from; ``count`` is how many, the first ones of a file.

    ``public`` declares that the text may be copied into the study's folder, shown in its report and
    chosen by. What is generated is public, and so is WikiText.
    """

    kind: str = FILE
    path: str | None = None
    count: int | None = None
    seed: int = 0
    record: str = "paragraph"
    field: str = "text"
    author_field: str | None = None
    label_field: str | None = None
    format: str | None = None
    public: bool = False

    def __post_init__(self) -> None:
        one_of("kind", self.kind, CORPORA)
        one_of("record", self.record, RECORDS)
        check_seeds("seed", (self.seed,))
        if self.count is not None:
            at_least("count", self.count, 1, MOST_DOCUMENTS)
        if self.kind == GENERATED and (self.path is not None or self.count is None):
            raise InvalidArgument("a corpus of kind customersim has a count, and no path")
        if self.kind != GENERATED and self.path is None:
            raise InvalidArgument(f"a corpus of kind {self.kind} needs a path")
        if self.kind == FILE and self.count is not None and not self.public:
            raise InvalidArgument(
                "count takes a part of a file, which is a copy of it; declare public = true, or "
                "name a smaller file"
            )

    @property
    def copied(self) -> bool:
        """Whether the study's folder may hold a copy."""
        return self.public or self.kind != FILE


@dataclass(frozen=True, kw_only=True)
class CanarySettings:
    """Made-up secrets to plant, or the ``manifest`` of those that are planted already."""

    template: str = "My ID is {}."
    secrets: tuple[str, ...] = ()
    digits: int = 6
    repetitions: tuple[int, ...] = (10,)
    seed: int = 0
    manifest: str | None = None

    def __post_init__(self) -> None:
        check_seeds("seed", (self.seed,))
        for one in self.repetitions:
            at_least("repetitions", one, 0, MOST_DOCUMENTS)
        if not self.repetitions:
            raise InvalidArgument("repetitions is an empty list: say how often to plant")
        if self.manifest is None:
            at_least("digits", self.digits, 1, MOST_DIGITS)
            for secret in self.secrets or ("0",):
                Canary(self.template, secret)  # says what is wrong with it
        counts = {len(self.secrets), len(self.repetitions)} - {0, 1}
        if self.secrets and (len(counts) > 1 or len(self.secrets) < len(self.repetitions)):
            raise InvalidArgument(
                f"there are {len(self.secrets)} secrets and {len(self.repetitions)} repetitions: "
                "give one number for all secrets, or one for each"
            )


@dataclass(frozen=True, kw_only=True)
class CoinSettings:
    """Made-up documents for an audit, in the corpus by fair coins."""

    count: int = 200
    guesses: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_seeds("seed", (self.seed,))
        at_least("count", self.count, 1, MOST_DOCUMENTS)


@dataclass(frozen=True, kw_only=True)
class MethodSettings:
    """One way to protect: ``settings`` as given, of which lists are grids."""

    name: str
    settings: Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Study:
    """All of it."""

    name: str
    title: str = ""
    seeds: tuple[int, ...] = (1,)
    corpus: CorpusSettings
    test: CorpusSettings | None = None
    canaries: CanarySettings | None = None
    coins: CoinSettings | None = None
    policies: Mapping[str, Any] = field(default_factory=dict)
    model: Mapping[str, Any] | None = None
    methods: tuple[MethodSettings, ...] = ()
    attacks: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    measures: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    groups: str | None = None
    anchors: bool = True
    folder: Path = Path()
    text: str = field(default="", repr=False)
    doors: Doors = field(default_factory=Doors, repr=False)

    def __post_init__(self) -> None:
        check_seeds("seeds", self.seeds)
        self._check_groups()
        self._check_test()
        names = [method.name for method in self.methods]
        for name in ANCHORS:
            if name in names:
                raise InvalidArgument(f"{name!r} is an anchor, not a name for a method")
        for name in self.attacks:
            find("attacks", name)
        for name in self.measures:
            of_model = find("measures", name).load().of == "model"
            if of_model and (self.test is None or self.model is None):
                raise InvalidArgument(f"the measure {name} needs [test] and [model]")
        if self.coins is not None and self.model is None:
            raise InvalidArgument("[coins] are for auditing a model; [model] is missing")
        planted = self.canaries is not None and self.canaries.manifest is None
        if (planted or self.coins is not None) and not self.corpus.copied:
            raise InvalidArgument(
                "planting makes a copy of the corpus, and this one is private; plant with 'sfumato "
                "data canaries', give that file as the corpus and canaries.manifest, or declare "
                "public = true"
            )

    def _check_test(self) -> None:
        """Both are read in one way; a generated or public one is written in the usual way first."""
        if self.test is not None and self._read(self.test) != self._read(self.corpus):
            raise InvalidArgument(
                "[corpus] and [test] must have the same fields and format, where one of them is a "
                "private file: field, author_field, label_field, groups and format are compared"
            )

    def _read(self, corpus: CorpusSettings) -> tuple[str | None, ...]:
        author, label = corpus.author_field, self.groups or corpus.label_field
        if corpus.copied:
            return "text", author and "author", label and "label", None
        return corpus.field, author, label, corpus.format

    def _check_groups(self) -> None:
        if self.groups == "":
            raise InvalidArgument("groups='' must be the name of a field")
        if self.groups is None or self.corpus.kind == FILE:
            return
        if self.corpus.kind == WIKITEXT:
            raise InvalidArgument("WikiText has no field to tell groups by: leave groups out")
        if self.groups != GENERATED_GROUPS:
            raise InvalidArgument(
                f"generated dialogues have one field to tell groups by, {GENERATED_GROUPS!r} (the "
                f"customer's country): groups={self.groups!r} is not there"
            )

    def path(self, written: str, purpose: str = READS) -> Path:
        """A path of the file, from where the file stands, if the study may go there."""
        found = self._place(written)
        self.doors.pass_through(self.folder, found, purpose)
        return found

    def place(self, written: str, purpose: str = READS) -> str:
        """A setting that may be a path as one, and any other as it is.

        What is not there is a name (of an installed pipeline, say), unless it is written as a path.
        """
        written_as_path = written.startswith((".", "~", "$")) or "/" in written
        if purpose == WRITES or written_as_path or self._place(written).exists():
            return str(self.path(written, purpose))
        if Path(written).exists():  # whoever gets the name would find this
            self.doors.pass_through(self.folder, Path(written).absolute(), purpose)
        return written

    def model_folder(self, written: str) -> str | None:
        """The folder that a model's name stands for, or nothing if only the hub could know it."""
        if self._place(written).exists() or not HUB_NAME.fullmatch(written):
            return str(self.path(written))
        if Path(written).exists():  # whoever gets the name would find this
            self.doors.pass_through(self.folder, Path(written).absolute(), READS)
        return None

    def _place(self, written: str) -> Path:
        if "\0" in written:
            raise InvalidArgument("a path in the study has a character that no path has")
        return self.folder / from_home(_VARIABLE.sub(_value, written))


def check_seeds(name: str, seeds: tuple[int, ...]) -> tuple[int, ...]:
    """Different whole numbers, none of them too large to be written down."""
    if not seeds or len(set(seeds)) != len(seeds):
        raise InvalidArgument(f"{name} must be a list of different whole numbers")
    for seed in seeds:
        if not 0 <= seed <= LARGEST_SEED:
            raise InvalidArgument(f"{name}: {seed} must lie between 0 and 2^63 - 1")
    return seeds


# What a study has without its file saying so.
_NOT_WRITTEN = ("folder", "text", "doors")
_TABLES = {
    "corpus": CorpusSettings,
    "test": CorpusSettings,
    "canaries": CanarySettings,
    "coins": CoinSettings,
}


def read_study(path: Path, doors: Doors | None = None) -> Study:
    """The study that a file describes; without ``doors`` it keeps to the folder of the file."""
    try:
        text = path.read_bytes().decode("utf-8-sig")  # some editors write a mark before the text
    except OSError as error:
        raise StorageFailed(f"cannot read {path}: {error.strerror or 'reading failed'}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not in utf-8") from None
    return study_from(text, path.resolve().parent, path.stem, doors)


def study_from(text: str, folder: Path, name: str, doors: Doors | None = None) -> Study:
    """The study that a text describes; its paths are relative to ``folder``."""
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"the study is no TOML: {error}") from None
    except (ValueError, RecursionError):
        raise BadInput(
            "the study is no TOML: a number is too long, or it is nested too deep"
        ) from None
    _refuse_dates(given, "the study")
    for reserved in _NOT_WRITTEN:
        if reserved in given:
            raise UnknownName("key in the study", reserved, _keys())
    own = {"folder": folder, "text": text, "doors": doors or Doors()}
    read: dict[str, Any] = {"name": name, **given, **own}
    for key, kind in _TABLES.items():
        if key in given:
            read[key] = table(kind, given[key], f"[{key}]")
    methods = given.get("methods", [])
    if not isinstance(methods, list):
        raise InvalidArgument("methods must be a list of tables: [[methods]], with two brackets")
    read["methods"] = tuple(_method(one, number) for number, one in enumerate(methods, start=1))
    return table(Study, read, "the study")


def _keys() -> list[str]:
    return sorted(set(Study.__dataclass_fields__) - set(_NOT_WRITTEN))


def _refuse_dates(given: object, where: str, depth: int = 0) -> None:
    """TOML has dates and times, and nothing in a study is one; nor is it a well without bottom."""
    if depth > DEEPEST:
        raise BadInput(f"the study is nested too deep: at most {DEEPEST} tables in each other")
    if isinstance(given, date | time):
        raise InvalidArgument(f"{where} is a date or a time; a text stands in quotes")
    inside = given.items() if isinstance(given, Mapping) else ()
    for key, value in inside:
        _refuse_dates(value, f"{where}.{key}", depth + 1)
    for one in given if isinstance(given, list) else ():
        _refuse_dates(one, where, depth + 1)


def _method(given: object, number: int) -> MethodSettings:
    if not isinstance(given, Mapping) or not isinstance(given.get("name"), str):
        raise InvalidArgument(f"method {number} needs a name: [[methods]] with name = …")
    if not given["name"].strip() or any(category(one) == "Cc" for one in given["name"]):
        raise InvalidArgument(f"the name of method {number} is empty or has more than one line")
    return MethodSettings(
        name=given["name"], settings={key: given[key] for key in given if key != "name"}
    )


def _value(match: re.Match[str]) -> str:
    found = os.environ.get(match[1])
    if found is None:
        raise InvalidArgument(f"the study needs the environment variable {match[1]}")
    return str(Path(found).absolute())  # as the shell means it, wherever the file stands


def template() -> str:
    """The commented file."""
    return files("sfumato.studies").joinpath("data", "template.toml").read_text("utf-8")


def write_template(path: Path, *, overwrite: bool = False) -> None:
    """Write the commented file somewhere."""
    refuse_existing(path, overwrite=overwrite)
    try:
        write_whole(path, template().encode())
    except OSError as error:
        raise StorageFailed(f"cannot write {path}: {error.strerror or 'it failed'}") from None
