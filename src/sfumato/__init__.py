"""sfumato: find what is sensitive in text, soften it, say what is guaranteed, attack the result.

>>> import sfumato
>>> privatizer = sfumato.Privatizer(policy="digits", epsilon=5)
>>> "145572" in privatizer.privatize(["My ID is 145572."])[0]
False

Verbs work on files (``privatize``, ``train``, ``attack``, ``audit``, …) and give objects; each room
(``sfumato.policies``, ``sfumato.mechanisms``, …) exports its nouns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.accounting.budget.shared import Budget as Budget
    from sfumato.client.calls import Client as Client
    from sfumato.core.errors import SfumatoError as SfumatoError
    from sfumato.core.randomness import Randomness as Randomness
    from sfumato.guarantees.bound import EmpiricalBound as EmpiricalBound
    from sfumato.guarantees.guarantee import Guarantee as Guarantee
    from sfumato.guarantees.guarantee import Notion as Notion
    from sfumato.mechanisms.laplace import Laplace as Laplace
    from sfumato.mechanisms.mechanism import Mechanism as Mechanism
    from sfumato.mechanisms.selective import Selective as Selective
    from sfumato.policies.policy import Policy as Policy
    from sfumato.releases.privatizer import Privatizer as Privatizer
    from sfumato.releases.release import Release as Release
    from sfumato.representations.corpus import EmbeddedCorpus as EmbeddedCorpus
    from sfumato.representations.embedder import Embedder as Embedder
    from sfumato.results.row import Row as Row
    from sfumato.results.scores import Scores as Scores
    from sfumato.studies.study import Study as Study
    from sfumato.synthesis.corpus import SyntheticCorpus as SyntheticCorpus
    from sfumato.text.document import Document as Document
    from sfumato.text.span import Span as Span
    from sfumato.text.span import Spans as Spans
    from sfumato.text.words import Words as Words
    from sfumato.training.plan import Plan as Plan
    from sfumato.training.run import Run as Run
    from sfumato.vectors.load import load_vectors as load_vectors
    from sfumato.vectors.space import Space as Space
    from sfumato.verbs.attack import attack as attack
    from sfumato.verbs.attack import attack_all as attack_all
    from sfumato.verbs.audit import audit as audit
    from sfumato.verbs.calibrate import calibrate as calibrate
    from sfumato.verbs.compare import compare as compare
    from sfumato.verbs.data import convert_vectors as convert_vectors
    from sfumato.verbs.data import convert_wikitext as convert_wikitext
    from sfumato.verbs.data import make_dialogues as make_dialogues
    from sfumato.verbs.data import plant_canaries as plant_canaries
    from sfumato.verbs.data import plant_classifier_canaries as plant_classifier_canaries
    from sfumato.verbs.data import toss_coins as toss_coins
    from sfumato.verbs.deniability import deniability as deniability
    from sfumato.verbs.deniability import suggest as suggest
    from sfumato.verbs.embed import embed as embed
    from sfumato.verbs.evaluate_synthetic import evaluate_synthetic as evaluate_synthetic
    from sfumato.verbs.explain import explain as explain
    from sfumato.verbs.explain_word import compare_words as compare_words
    from sfumato.verbs.explain_word import explain_word as explain_word
    from sfumato.verbs.federate import federate as federate
    from sfumato.verbs.footprint import footprint as footprint
    from sfumato.verbs.measure import measure as measure
    from sfumato.verbs.model import evaluate as evaluate
    from sfumato.verbs.model import generate as generate
    from sfumato.verbs.ngrams import ngrams as ngrams
    from sfumato.verbs.plan import plan as plan
    from sfumato.verbs.policy import scan as scan
    from sfumato.verbs.policy import score_policy as score_policy
    from sfumato.verbs.preset import preset as preset
    from sfumato.verbs.privatize import privatize as privatize
    from sfumato.verbs.report import report as report
    from sfumato.verbs.restore import restore as restore
    from sfumato.verbs.synthesize import synthesize as synthesize
    from sfumato.verbs.tokenizer import train_tokenizer as train_tokenizer
    from sfumato.verbs.topics import topics as topics
    from sfumato.verbs.train import train as train
    from sfumato.verbs.tune import tune as tune
    from sfumato.verbs.verify import verify as verify
    from sfumato.verbs.verify import verify_exhibits as verify_exhibits
    from sfumato.verbs.write_corpus import write_corpus as write_corpus
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.accounting.budget.shared": "Budget",
            "sfumato.client.calls": "Client",
            "sfumato.core.errors": "SfumatoError",
            "sfumato.core.randomness": "Randomness",
            "sfumato.guarantees.bound": "EmpiricalBound",
            "sfumato.guarantees.guarantee": "Guarantee Notion",
            "sfumato.mechanisms.laplace": "Laplace",
            "sfumato.mechanisms.mechanism": "Mechanism",
            "sfumato.mechanisms.selective": "Selective",
            "sfumato.policies.policy": "Policy",
            "sfumato.releases.privatizer": "Privatizer",
            "sfumato.releases.release": "Release",
            "sfumato.representations.corpus": "EmbeddedCorpus",
            "sfumato.representations.embedder": "Embedder",
            "sfumato.results.row": "Row",
            "sfumato.results.scores": "Scores",
            "sfumato.studies.study": "Study",
            "sfumato.synthesis.corpus": "SyntheticCorpus",
            "sfumato.text.document": "Document",
            "sfumato.text.span": "Span Spans",
            "sfumato.text.words": "Words",
            "sfumato.training.plan": "Plan",
            "sfumato.training.run": "Run",
            "sfumato.vectors.load": "load_vectors",
            "sfumato.vectors.space": "Space",
            "sfumato.verbs.attack": "attack attack_all",
            "sfumato.verbs.audit": "audit",
            "sfumato.verbs.calibrate": "calibrate",
            "sfumato.verbs.compare": "compare",
            "sfumato.verbs.data": (
                "convert_vectors convert_wikitext make_dialogues plant_canaries "
                "plant_classifier_canaries toss_coins "
            ),
            "sfumato.verbs.deniability": "deniability suggest",
            "sfumato.verbs.embed": "embed",
            "sfumato.verbs.evaluate_synthetic": "evaluate_synthetic",
            "sfumato.verbs.explain": "explain",
            "sfumato.verbs.explain_word": "compare_words explain_word",
            "sfumato.verbs.federate": "federate",
            "sfumato.verbs.footprint": "footprint",
            "sfumato.verbs.measure": "measure",
            "sfumato.verbs.model": "evaluate generate",
            "sfumato.verbs.ngrams": "ngrams",
            "sfumato.verbs.plan": "plan",
            "sfumato.verbs.policy": "scan score_policy",
            "sfumato.verbs.preset": "preset",
            "sfumato.verbs.privatize": "privatize",
            "sfumato.verbs.report": "report",
            "sfumato.verbs.restore": "restore",
            "sfumato.verbs.synthesize": "synthesize",
            "sfumato.verbs.tokenizer": "train_tokenizer",
            "sfumato.verbs.topics": "topics",
            "sfumato.verbs.train": "train",
            "sfumato.verbs.tune": "tune",
            "sfumato.verbs.verify": "verify verify_exhibits",
            "sfumato.verbs.write_corpus": "write_corpus",
        },
    )

__all__ = [
    "Budget",
    "Client",
    "Document",
    "EmbeddedCorpus",
    "Embedder",
    "EmpiricalBound",
    "Guarantee",
    "Laplace",
    "Mechanism",
    "Notion",
    "Plan",
    "Policy",
    "Privatizer",
    "Randomness",
    "Release",
    "Row",
    "Run",
    "Scores",
    "Selective",
    "SfumatoError",
    "Space",
    "Span",
    "Spans",
    "Study",
    "SyntheticCorpus",
    "Words",
    "attack",
    "attack_all",
    "audit",
    "calibrate",
    "compare",
    "compare_words",
    "convert_vectors",
    "convert_wikitext",
    "deniability",
    "embed",
    "evaluate",
    "evaluate_synthetic",
    "explain",
    "explain_word",
    "federate",
    "footprint",
    "generate",
    "load_vectors",
    "make_dialogues",
    "measure",
    "ngrams",
    "plan",
    "plant_canaries",
    "plant_classifier_canaries",
    "preset",
    "privatize",
    "report",
    "restore",
    "scan",
    "score_policy",
    "suggest",
    "synthesize",
    "topics",
    "toss_coins",
    "train",
    "train_tokenizer",
    "tune",
    "verify",
    "verify_exhibits",
    "write_corpus",
]
