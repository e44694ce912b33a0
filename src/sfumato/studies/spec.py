"""What a study's file says: corpora, methods with grids, attacks, measures, seeds.

Settings that exclude each other are an error that says what to do. Paths are relative to the file;
``${NAME}`` in a path is an environment variable.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sfumato.catalog import find
from sfumato.core.checks import MOST_DOCUMENTS, at_least, one_of
from sfumato.core.errors import InvalidArgument
from sfumato.core.files import from_home
from sfumato.core.own_code import OwnClass
from sfumato.core.settings import READS, RUNS, WRITES
from sfumato.corpora.canaries import MOST_DIGITS, Canary
from sfumato.corpora.wikitext import RECORDS
from sfumato.files.layout import SPANS
from sfumato.models.name import HUB_NAME
from sfumato.results.row import ANCHORS
from sfumato.studies.doors import Doors

GENERATED, WIKITEXT, FILE = "customersim", "wikitext", "file"
CORPORA = (GENERATED, WIKITEXT, FILE)
GENERATED_GROUPS = "label"
# Seeds are written to a column of signed 64-bit integers, whose largest value this is.
LARGEST_SEED = 2**63 - 1
# More would take longer to rank than any model to train.
MOST_SECRETS = 10_000
_VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True, kw_only=True)
class CorpusSettings:
    """The source of documents; ``count`` is how many, the first ones of a file.

    ``lines`` keeps the first lines of each generated dialogue only. Without a ``header`` the
    columns of a table are called 1, 2, … ``public`` declares that the text may be copied into the
    study's folder and shown in its report, and that settings may be chosen by figures measured on
    it. ``span_field`` is where the labeled spans of a tagger's text are, "spans" unless told.
    Generated text and WikiText are public.
    """

    kind: str = FILE
    path: str | None = None
    count: int | None = None
    lines: int | None = None
    seed: int = 0
    record: str = "paragraph"
    field: str = "text"
    author_field: str | None = None
    label_field: str | None = None
    span_field: str | None = None
    format: str | None = None
    header: bool = True
    public: bool = False

    def __post_init__(self) -> None:
        one_of("kind", self.kind, CORPORA)
        one_of("record", self.record, RECORDS)
        check_seeds("seed", (self.seed,))
        if self.count is not None:
            at_least("count", self.count, 1, MOST_DOCUMENTS)
        if self.lines is not None:
            at_least("lines", self.lines, 1)
            if self.kind != GENERATED:
                raise InvalidArgument("lines shortens generated dialogues, not text of your own")
        if self.kind == GENERATED and (self.path is not None or self.count is None):
            raise InvalidArgument("a corpus of kind customersim needs a count, and has no path")
        if self.kind != GENERATED and self.path is None:
            raise InvalidArgument(f"a corpus of kind {self.kind} needs a path")
        if self.kind == FILE and self.count is not None and not self.public:
            raise InvalidArgument(
                "count would copy a part of the file, and this one is private; declare "
                "public = true, or name a smaller file"
            )

    @property
    def copied(self) -> bool:
        """Whether the study's folder may hold a copy."""
        return self.public or self.kind != FILE


@dataclass(frozen=True, kw_only=True)
class CanarySettings:
    """Made-up secrets to plant, or the ``manifest`` of those that are planted already.

    ``secrets`` is how many are drawn for each number of ``repetitions`` (one number for all of
    these, or one for each), or lists them. They stand between sentences of documents or, with
    ``alone``, as documents of their own.
    """

    template: str = "My ID is {}."
    secrets: int | tuple[int, ...] | tuple[str, ...] = ()
    digits: int = 6
    repetitions: tuple[int, ...] = (10,)
    seed: int = 0
    alone: bool = False
    manifest: str | None = None

    def __post_init__(self) -> None:
        check_seeds("seed", (self.seed,))
        for one in self.repetitions:
            at_least("repetitions", one, 0, MOST_DOCUMENTS)
        if not self.repetitions:
            raise InvalidArgument("repetitions is an empty list: say how often to plant")
        if not isinstance(self.secrets, int) and not _alike(self.secrets):
            raise InvalidArgument("secrets must be a number, a list of numbers, or a list of texts")
        if self.manifest is None:
            at_least("digits", self.digits, 1, MOST_DIGITS)
            for secret in self.listed or ("0",):
                Canary(self.template, secret)  # an error if it is wrong
        self._check_numbers()
        if self.manifest is not None and self.secrets:
            raise InvalidArgument("the secrets are in the manifest: leave secrets out")
        if self.manifest is not None and self.alone:
            raise InvalidArgument("the secrets of a manifest are planted already: leave alone out")
        counts = {len(self.listed), len(self.repetitions)} - {0, 1}
        if self.listed and (len(counts) > 1 or len(self.listed) < len(self.repetitions)):
            raise InvalidArgument(
                f"there are {len(self.listed)} secrets and {len(self.repetitions)} repetitions: "
                "give one number for all secrets, or one for each"
            )

    def _check_numbers(self) -> None:
        for drawn in self.drawn:
            at_least("secrets", drawn, 1, MOST_SECRETS)
        if self.drawn and len(self.drawn) != len(self.repetitions):
            raise InvalidArgument(
                f"there are {len(self.drawn)} numbers of secrets and {len(self.repetitions)} "
                "repetitions: give one number for all repetitions, or one for each"
            )
        if self.manifest is None and sum(self.drawn) > 10**self.digits:
            raise InvalidArgument(
                f"{sum(self.drawn)} secrets, for {len(self.repetitions)} repetitions, are more "
                f"than there are numbers of {self.digits} digits"
            )

    @property
    def listed(self) -> tuple[str, ...]:
        """The secrets, if the file lists them."""
        given = () if isinstance(self.secrets, int) else self.secrets
        return tuple(one for one in given if isinstance(one, str))

    @property
    def drawn(self) -> tuple[int, ...]:
        """How many secrets are drawn for each number of repetitions, if numbers are given."""
        if isinstance(self.secrets, int):
            return (self.secrets,) * len(self.repetitions)
        return tuple(one for one in self.secrets if isinstance(one, int))

    @property
    def each_repetitions(self) -> tuple[int, ...]:
        """How often each secret is planted."""
        if self.drawn:
            pairs = zip(self.repetitions, self.drawn, strict=True)
            return tuple(one for one, drawn in pairs for _ in range(drawn))
        if len(self.repetitions) == 1:
            return self.repetitions * max(1, len(self.listed))
        return self.repetitions


def _alike(secrets: object) -> bool:
    """Whether all are numbers, or all are texts: of a mixed list one kind would not be planted."""
    if not isinstance(secrets, Sequence) or isinstance(secrets, str):
        return False
    return any(all(isinstance(one, kind) for one in secrets) for kind in (int, str))


@dataclass(frozen=True, kw_only=True)
class CoinSettings:
    """Made-up documents for an audit; a fair coin decides whether each is in the corpus."""

    count: int = 200
    guesses: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_seeds("seed", (self.seed,))
        at_least("count", self.count, 1, MOST_DOCUMENTS)


@dataclass(frozen=True, kw_only=True)
class MethodSettings:
    """One method of protection; ``settings`` are as given, and a list in them is an axis."""

    name: str
    settings: Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class OneOfSeveral:
    """One of several corpora with its own settings; those that it lacks are the study's."""

    corpus: CorpusSettings
    test: CorpusSettings | None = None
    others: CorpusSettings | None = None
    canaries: CanarySettings | None = None
    coins: CoinSettings | None = None
    policies: Mapping[str, Any] = field(default_factory=dict)
    groups: str | None = None


@dataclass(frozen=True, kw_only=True)
class StudySpec:
    """What a study's file says.

    With several ``corpora`` everything is computed on each of them: ``of_corpus`` gives the study
    on one, and ``corpus`` is the first. ``others`` are texts of the same kind that no model is
    trained on, for attacks that compare with them; the ``test`` text unless they are given.
    ``charged`` says that an account pays for what the study releases (``studies.payment``).
    """

    name: str
    title: str = ""
    seeds: tuple[int, ...] = (1,)
    corpus: CorpusSettings
    corpora: Mapping[str, OneOfSeveral] = field(default_factory=dict)
    test: CorpusSettings | None = None
    others: CorpusSettings | None = None
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
    charged: bool = False

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
        self._check_read("test", self.test)
        self._check_read("others", self.others)
        names = [method.name for method in self.methods]
        for name in ANCHORS:
            if name in names:
                raise InvalidArgument(f"{name!r} is the name of an anchor, not of a method")
        for name in self.attacks:
            find("attacks", name)
        for name in self.measures:
            entry = find("measures", name)
            # Reading a file does not run the study's own code: that must be allowed first.
            if OwnClass.read(name) is None:
                self.check_measure(name, entry.load())
        if self.classes:
            self._check_classes()
        if self.tags:
            self._check_tags()
        if self.coins is not None and self.model is None:
            raise InvalidArgument("[coins] are for auditing a model; [model] is missing")
        planted = self.canaries is not None and self.canaries.manifest is None
        if (planted or self.coins is not None) and not self.corpus.copied:
            raise InvalidArgument(
                "planting makes a copy of the corpus, and this one is private; plant with "
                "`sfumato.plant_canaries(CORPUS, PLANTED, ...)` and name PLANTED as the corpus and "
                "its manifest as canaries.manifest, or declare public = true"
            )

    def check_measure(self, name: str, measure: Any) -> None:
        """Refuse a measure of a model if the study has no model or no text to test it on."""
        if getattr(measure, "of", None) == "model" and (self.test is None or self.model is None):
            raise InvalidArgument(f"the measure {name} needs [test] and [model]")

    def _check_read(self, name: str, text: CorpusSettings | None) -> None:
        """Check that the corpus and another text are read alike; copied ones have usual fields."""
        if text is not None and self._read(text) != self._read(self.corpus):
            raise InvalidArgument(
                f"[corpus] and [{name}] must have the same fields and format if one of them is a "
                "private file: field, author_field, label_field, groups, format and header are "
                "compared"
            )

    def _read(self, corpus: CorpusSettings) -> tuple[str | bool | None, ...]:
        author, (label, group) = corpus.author_field, self.labels(corpus)
        spans = self.span_field(corpus)
        if corpus.copied:
            usual = "text", author and "author", label and "label", group and "group"
            return *usual, spans and SPANS, None, True
        return corpus.field, author, label, group, spans, corpus.format, corpus.header

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes that the study's models tell apart; empty for language models."""
        given = (self.model or {}).get("classes", ())
        return tuple(map(str, given)) if isinstance(given, list | tuple) else ()

    @property
    def tags(self) -> tuple[str, ...]:
        """The types that the study's models find in a text; empty unless they are taggers."""
        given = (self.model or {}).get("tags", ())
        return tuple(map(str, given)) if isinstance(given, list | tuple) else ()

    def span_field(self, corpus: CorpusSettings) -> str | None:
        """The field of labeled spans, if the study's models are taggers."""
        return (corpus.span_field or SPANS) if self.tags else None

    def _check_tags(self) -> None:
        """Refuse texts without labeled spans."""
        if self.classes:
            raise InvalidArgument("[model] has tags, for a tagger, and classes: give one of them")
        if any(one is not None and one.kind == WIKITEXT for one in self._texts):
            raise InvalidArgument("WikiText has no labeled spans; leave out tags")
        if self.coins is not None or self.canaries is not None:
            raise InvalidArgument(
                "[coins] and [canaries] are texts without labeled spans; leave them out, or tags"
            )

    @property
    def _texts(self) -> tuple[CorpusSettings | None, ...]:
        return self.corpus, self.test, self.others

    def labels(self, corpus: CorpusSettings) -> tuple[str | None, str | None]:
        """The fields of the label and of a group beside it; language models have groups only."""
        if self.classes:
            return corpus.label_field, self.groups
        return self.groups or corpus.label_field, None

    def _check_classes(self) -> None:
        """Refuse classes without labels, and texts that have no class."""
        for corpus in (self.corpus, self.test, self.others):
            if corpus is not None and (corpus.kind != FILE or corpus.label_field is None):
                raise InvalidArgument(
                    "classes are told apart by the labels of a file: [corpus], [test] and [others] "
                    "need a path and label_field"
                )
        if self.coins is not None:
            raise InvalidArgument("[coins] are texts without a class; leave them out, or classes")
        if self.canaries is not None and self.canaries.alone:
            raise InvalidArgument(
                "[canaries] with alone=true are texts without a class; plant them in others"
            )

    @property
    def has_made_up(self) -> bool:
        """Whether made-up documents stand behind those of the corpus: coins, or lone canaries."""
        lone = self.canaries is not None and self.canaries.alone
        return self.coins is not None or lone

    def _check_groups(self) -> None:
        if self.groups == "":
            raise InvalidArgument("groups='' must be the name of a field")
        if self.groups is None or self.corpus.kind == FILE:
            return
        if self.corpus.kind == WIKITEXT:
            raise InvalidArgument("WikiText has no field that defines groups: leave groups out")
        if self.groups != GENERATED_GROUPS:
            raise InvalidArgument(
                f"generated dialogues have one field for groups, {GENERATED_GROUPS!r} (the "
                f"customer's country): groups={self.groups!r} is not there"
            )

    def of_corpus(self, name: str) -> StudySpec:
        """The study on one of its corpora; the empty name gives the whole study."""
        if not name:
            return self
        one = self.corpora[name]
        return replace(
            self,
            corpora={},
            corpus=one.corpus,
            test=one.test or self.test,
            others=one.others or self.others,
            canaries=one.canaries or self.canaries,
            coins=one.coins or self.coins,
            policies={**self.policies, **one.policies},
            groups=one.groups or self.groups,
        )

    @property
    def each(self) -> dict[str, StudySpec]:
        """The study on each corpus, by name; a single corpus has the empty name."""
        return {name: self.of_corpus(name) for name in self.corpora or ("",)}

    def path(self, written: str, purpose: str = READS) -> Path:
        """A path that the study's file names, relative to that file; refused if not allowed."""
        found = self._place(written)
        self.doors.pass_through(self.folder, found, purpose)
        return found

    def place(self, written: str, purpose: str = READS) -> str:
        """A setting that may be a path: located if it is one, else unchanged.

        A text that is not an existing file counts as a name (of an installed pipeline, for
        example), unless it is written as a path.
        """
        written_as_path = written.startswith((".", "~", "$")) or "/" in written
        if purpose in (WRITES, RUNS) or written_as_path or self._place(written).exists():
            return str(self.path(written, purpose))
        if Path(written).exists():  # the component would open this file
            self.doors.pass_through(self.folder, Path(written).absolute(), purpose)
        return written

    def component(self, kind: str, name: str) -> Any:
        """A component by its name in the study; code of the study's own must be allowed."""
        return find(kind, self.component_name(name)).load()

    def component_name(self, name: str) -> str:
        """The name of a component that is valid in any working folder; code must be allowed."""
        own = OwnClass.read(name)
        return name if own is None else own.at(self.path(str(own.path), RUNS))

    def model_folder(self, written: str) -> str | None:
        """The folder that a model's name stands for; None if it can only be a name on the hub."""
        if self._place(written).exists() or not HUB_NAME.fullmatch(written):
            return str(self.path(written))
        if Path(written).exists():  # the component would open this file
            self.doors.pass_through(self.folder, Path(written).absolute(), READS)
        return None

    def _place(self, written: str) -> Path:
        if "\0" in written:
            raise InvalidArgument("a path in the study has a null character, which none may have")
        return self.folder / from_home(_VARIABLE.sub(_value, written))


def check_seeds(name: str, seeds: tuple[int, ...]) -> tuple[int, ...]:
    """Check that seeds are different whole numbers of at most 63 bits."""
    if not seeds or len(set(seeds)) != len(seeds):
        raise InvalidArgument(f"{name} must be a list of different whole numbers")
    for seed in seeds:
        if not 0 <= seed <= LARGEST_SEED:
            raise InvalidArgument(f"{name}: {seed} must lie between 0 and 2^63 - 1")
    return seeds


def _value(match: re.Match[str]) -> str:
    found = os.environ.get(match[1])
    if found is None:
        raise InvalidArgument(f"the study needs the environment variable {match[1]}")
    return str(Path(found).absolute())  # relative to the working folder, as in a shell
