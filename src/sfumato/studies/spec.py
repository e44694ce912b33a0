"""A study as a TOML file describes it: corpora, methods with grids, attacks, measures, seeds.

Every key is checked before anything is computed: an unknown one is an error with the nearest one
named, and what cannot go together is said with what to do. Paths are relative to the file;
``${NAME}`` in one is an environment variable. ``template`` is a file to begin with, which explains
every table and is ready to run.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, time
from importlib.resources import files
from pathlib import Path
from typing import Any
from unicodedata import category

from sfumato.catalog import find
from sfumato.core.checks import MOST_DOCUMENTS, at_least, one_of
from sfumato.core.errors import BadInput, InvalidArgument, StorageFailed, UnknownName
from sfumato.core.files import from_home, refuse_existing, write_whole
from sfumato.core.own_code import OwnClass
from sfumato.core.settings import READS, RUNS, WRITES, read_table
from sfumato.corpora.canaries import MOST_DIGITS, Canary
from sfumato.corpora.wikitext import RECORDS
from sfumato.models.name import HUB_NAME
from sfumato.results.row import ANCHORS
from sfumato.studies.doors import Doors

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
class OneOfSeveral:
    """One of several corpora, and what it has of its own; what it lacks is the study's."""

    corpus: CorpusSettings
    test: CorpusSettings | None = None
    canaries: CanarySettings | None = None
    coins: CoinSettings | None = None
    policies: Mapping[str, Any] = field(default_factory=dict)
    groups: str | None = None


@dataclass(frozen=True, kw_only=True)
class StudySpec:
    """What a study's file says.

    With several ``corpora`` everything is computed on each of them: ``of_corpus`` is the study of
    one, and ``corpus`` is the first.
    """

    name: str
    title: str = ""
    seeds: tuple[int, ...] = (1,)
    corpus: CorpusSettings
    corpora: Mapping[str, OneOfSeveral] = field(default_factory=dict)
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
        for name in self.corpora:
            try:
                self.of_corpus(name)
            except InvalidArgument as error:
                raise InvalidArgument(f"[corpora.{name}]: {error}") from None
        if not self.corpora:
            self._check()

    def _check(self) -> None:
        self._check_groups()
        self._check_test()
        names = [method.name for method in self.methods]
        for name in ANCHORS:
            if name in names:
                raise InvalidArgument(f"{name!r} is an anchor, not a name for a method")
        for name in self.attacks:
            find("attacks", name)
        for name in self.measures:
            entry = find("measures", name)
            # Code of the study's own is not run by reading a file: it has to pass the doors first.
            if OwnClass.read(name) is None:
                self.check_measure(name, entry.load())
        if self.coins is not None and self.model is None:
            raise InvalidArgument("[coins] are for auditing a model; [model] is missing")
        planted = self.canaries is not None and self.canaries.manifest is None
        if (planted or self.coins is not None) and not self.corpus.copied:
            raise InvalidArgument(
                "planting makes a copy of the corpus, and this one is private; plant with "
                "`sfumato.plant_canaries(CORPUS, PLANTED, ...)`, give that file as the "
                "corpus and canaries.manifest, or declare public = true"
            )

    def check_measure(self, name: str, measure: Any) -> None:
        """Refuse a measure of a model where there is none to look at."""
        if getattr(measure, "of", None) == "model" and (self.test is None or self.model is None):
            raise InvalidArgument(f"the measure {name} needs [test] and [model]")

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

    def of_corpus(self, name: str) -> StudySpec:
        """The study on one of its corpora alone; the one that has no name is all of it."""
        if not name:
            return self
        one = self.corpora[name]
        return replace(
            self,
            corpora={},
            corpus=one.corpus,
            test=one.test or self.test,
            canaries=one.canaries or self.canaries,
            coins=one.coins or self.coins,
            policies={**self.policies, **one.policies},
            groups=one.groups or self.groups,
        )

    @property
    def each(self) -> dict[str, StudySpec]:
        """The study on each corpus, by its name; "" is the name of a single one."""
        return {name: self.of_corpus(name) for name in self.corpora or ("",)}

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
        if purpose in (WRITES, RUNS) or written_as_path or self._place(written).exists():
            return str(self.path(written, purpose))
        if Path(written).exists():  # whoever gets the name would find this
            self.doors.pass_through(self.folder, Path(written).absolute(), purpose)
        return written

    def component(self, kind: str, name: str) -> Any:
        """A component by the name that the study gives it; code of its own passes the doors."""
        return find(kind, self.component_name(name)).load()

    def component_name(self, name: str) -> str:
        """A name as it is found whatever folder the process works in, if the study may use it."""
        own = OwnClass.read(name)
        return name if own is None else own.at(self.path(str(own.path), RUNS))

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
# What one of several corpora has beside the keys of a corpus.
_OWN = ("test", "canaries", "coins", "policies", "groups")


def read_spec(path: Path, doors: Doors | None = None) -> StudySpec:
    """The study that a file describes; without ``doors`` it keeps to the folder of the file."""
    try:
        text = path.read_bytes().decode("utf-8-sig")  # some editors write a mark before the text
    except OSError as error:
        raise StorageFailed(f"cannot read {path}: {error.strerror or 'reading failed'}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not in utf-8") from None
    return parse_spec(text, path.resolve().parent, path.stem, doors)


def parse_spec(text: str, folder: Path, name: str, doors: Doors | None = None) -> StudySpec:
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
            read[key] = read_table(kind, given[key], f"[{key}]")
    if "corpora" in given:
        if "corpus" in given:
            raise InvalidArgument("a study has [corpus], or several as [corpora.NAME], not both")
        read["corpora"] = _corpora(given["corpora"])
        read["corpus"] = next(iter(read["corpora"].values())).corpus
    methods = given.get("methods", [])
    if not isinstance(methods, list):
        raise InvalidArgument("methods must be a list of tables: [[methods]], with two brackets")
    read["methods"] = tuple(_method(one, number) for number, one in enumerate(methods, start=1))
    return read_table(StudySpec, read, "the study")


def _keys() -> list[str]:
    return sorted(set(StudySpec.__dataclass_fields__) - set(_NOT_WRITTEN))


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


def _corpora(given: object) -> dict[str, OneOfSeveral]:
    if not isinstance(given, Mapping) or not given:
        raise InvalidArgument("corpora is a table of tables: [corpora.NAME] for each corpus")
    found = {}
    for name, own in given.items():
        where = f"[corpora.{name}]"
        if not is_line(name):
            raise InvalidArgument("the name of a corpus is empty or has more than one line")
        if not isinstance(own, Mapping):
            raise InvalidArgument(f"{where} must be a table")
        values = {key: own[key] for key in _OWN if key in own}
        of_corpus = {key: value for key, value in own.items() if key not in _OWN}
        for key in values.keys() & _TABLES.keys():
            values[key] = read_table(_TABLES[key], values[key], f"[corpora.{name}.{key}]")
        values["corpus"] = read_table(CorpusSettings, of_corpus, where)
        found[name] = read_table(OneOfSeveral, values, where)
    return found


def is_line(name: str) -> bool:
    """Whether a name can stand in a table: it has something to read, on one line."""
    return bool(name.strip()) and not any(category(one) == "Cc" for one in name)


def _method(given: object, number: int) -> MethodSettings:
    if not isinstance(given, Mapping) or not isinstance(given.get("name"), str):
        raise InvalidArgument(f"method {number} needs a name: [[methods]] with name = …")
    if not is_line(given["name"]):
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
