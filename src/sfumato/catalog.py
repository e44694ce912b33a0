"""The list of components: kind and name to the place where the class lives.

Nothing is imported until a component is asked for. Other packages add theirs through the entry
point groups ``sfumato.mechanisms``, ``sfumato.policies`` and so on, one group per kind. A class in
a file needs no entry: ``file.py:Class`` is found wherever a name is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from sfumato.core.errors import UnknownName
from sfumato.core.own_code import OwnClass


@dataclass(frozen=True)
class Entry:
    """One component: where it lives and what it does, in a line."""

    kind: str
    name: str
    target: str
    summary: str

    def load(self) -> Any:
        """Import the component; of a class in somebody's own file, this runs the file."""
        own = OwnClass.read(self.target)
        if own is not None:
            return own.load()
        module, _, attribute = self.target.partition(":")
        return getattr(import_module(module), attribute)


_BUILT_IN: dict[str, dict[str, tuple[str, str]]] = {
    "attacks": {
        "attribute-inference": (
            "sfumato.attacks.attribute_inference:AttributeInference",
            "a column of the originals, guessed from privatized or rewritten text",
        ),
        "author-attributes": (
            "sfumato.attacks.author_attributes:AuthorAttributes",
            "columns about authors, guessed from all their privatized documents together",
        ),
        "authorship": (
            "sfumato.attacks.authorship:Authorship",
            "who wrote a privatized text, by n-grams learned on originals or on privatized text",
        ),
        "classifier-extraction": (
            "sfumato.attacks.classifier_extraction:ClassifierExtraction",
            "words of planted documents from a text classifier, by the likelihood of their label",
        ),
        "context-inference": (
            "sfumato.attacks.stretches.context_inference:ContextInference",
            "what stood at each place, from what was put in and what is around it (any mechanism)",
        ),
        "exposure": (
            "sfumato.attacks.exposure.attack:Exposure",
            "rank planted canaries among all secrets that could have been planted",
        ),
        "gradient-candidates": (
            "sfumato.attacks.gradients.candidates:GradientCandidates",
            "which of some texts a noisy gradient belongs to, by its likelihood",
        ),
        "gradient-imprint": (
            "sfumato.attacks.gradients.imprint.attack:GradientImprint",
            "text from the gradients of a model that a dishonest server has built (Decepticons)",
        ),
        "gradient-matching": (
            "sfumato.attacks.gradients.matching.attack:GradientMatching",
            "text whose gradient is the released one, found by search (DLG, TAG, LAMP)",
        ),
        "gradient-span": (
            "sfumato.attacks.gradients.span:GradientSpan",
            "rebuild a batch's texts exactly, by the span of what attention has read",
        ),
        "gradient-tokens": (
            "sfumato.attacks.gradients.tokens:GradientTokens",
            "the words of a batch, by rows of the embeddings' gradient that stand out of noise",
        ),
        "matching": (
            "sfumato.attacks.stretches.matching:Matching",
            "which original a released document was made from, by what stayed (any mechanism)",
        ),
        "membership": (
            "sfumato.attacks.membership.attack:Membership",
            "tell texts a model was trained on from others, by a dozen signals",
        ),
        "memorization": (
            "sfumato.attacks.memorization:Memorization",
            "finish the beginnings of training documents, word for word or nearly so",
        ),
        "property-inference": (
            "sfumato.attacks.properties.attack:PropertyInference",
            "whether few or many training texts have a property, by models trained with either",
        ),
        "reidentification": (
            "sfumato.attacks.reidentification:Reidentification",
            "which original a rewritten document was made from, by meaning, words, or its law",
        ),
        "token-inference": (
            "sfumato.attacks.inference.token_inference:TokenInference",
            "the words of a privatized text from their replacements (Bayes, nearest, masked LM)",
        ),
        "vector-attributes": (
            "sfumato.attacks.vectors.attributes:VectorAttributes",
            "a column of the originals, guessed from noisy vectors",
        ),
        "vector-inversion": (
            "sfumato.attacks.vectors.inversion:VectorInversion",
            "words of the text behind a noisy vector, by nearness or learned from public text",
        ),
        "vector-keywords": (
            "sfumato.attacks.vectors.keywords:VectorKeywords",
            "whether a text has a certain word, from its noisy vector",
        ),
        "vector-membership": (
            "sfumato.attacks.vectors.membership:VectorMembership",
            "whether a text is among those whose noisy vectors were released",
        ),
        "vector-reidentification": (
            "sfumato.attacks.vectors.reidentification:VectorReidentification",
            "which original a noisy vector was made from, by likelihood",
        ),
    },
    "generators": {
        "model": (
            "sfumato.synthesis.model:ModelGenerator",
            "a language model writes texts by a public prompt for each label, and paraphrases",
        ),
        "pool": (
            "sfumato.synthesis.pool:PoolGenerator",
            "sentences of a public file, varied by their neighbors in it",
        ),
    },
    "measures": {
        "classification": (
            "sfumato.studies.measures.classification:ClassificationMeasure",
            "how well a classifier tells classes apart: accuracy, correlation, F1 (model)",
        ),
        "coherence": (
            "sfumato.studies.measures.coherence:CoherenceMeasure",
            "how much stranger a privatized text is to a public language model (text)",
        ),
        "deniability": (
            "sfumato.studies.measures.deniability:DeniabilityMeasure",
            "how likely frequent words stay as they are (mechanism)",
        ),
        "entities": (
            "sfumato.studies.measures.entities:EntitiesMeasure",
            "how well a tagger finds spans: precision, recall and F1",
        ),
        "meteor": (
            "sfumato.studies.measures.meteor:MeteorMeasure",
            "words, stems and synonyms that a document keeps, by WordNet (text)",
        ),
        "perplexity": (
            "sfumato.studies.measures.perplexity:PerplexityMeasure",
            "how well a model predicts text that it has not seen (model)",
        ),
        "readability": (
            "sfumato.studies.measures.readability:ReadabilityMeasure",
            "Flesch's reading ease, familiar pairs of words, change of variety (text)",
        ),
        "rewriting": (
            "sfumato.studies.measures.rewriting:RewritingMeasure",
            "words and meaning of its original that a rewritten document keeps (text)",
        ),
        "text": (
            "sfumato.studies.measures.text:TextMeasure",
            "words and meaning that a document keeps, by public word vectors (text)",
        ),
        "vectors": (
            "sfumato.studies.measures.vectors:VectorMeasure",
            "labels that noisy vectors still teach, and who is near whom (vectors)",
        ),
    },
    "mechanisms": {
        "auto": (
            "sfumato.mechanisms.auto:Auto",
            "by type: surrogates for names and codes, noise on dates, places, numbers, words",
        ),
        "bag": (
            "sfumato.mechanisms.rewriting.bag:Bag",
            "the words of a document, each privatized and their order forgotten (earth mover)",
        ),
        "binary": (
            "sfumato.mechanisms.binary:Binary",
            "flip bits of the word's binary code, then the nearest code (BRR)",
        ),
        "candidates": (
            "sfumato.mechanisms.rewriting.candidates:Candidates",
            "one sentence of a public pool for a whole document, by one draw (DeepCandidate)",
        ),
        "custom": (
            "sfumato.mechanisms.custom:Custom",
            "a word of the same public group of similar words (CusText)",
        ),
        "date": (
            "sfumato.mechanisms.date:Date",
            "dates moved by a random number of days, one for a document, in their form",
        ),
        "exponential": (
            "sfumato.mechanisms.exponential:Exponential",
            "any word of the vocabulary, less likely the farther away (SanText)",
        ),
        "generalize": (
            "sfumato.mechanisms.generalize:Generalize",
            "a broader word of a public hierarchy, such as WordNet (baseline, no guarantee)",
        ),
        "hyperbolic": (
            "sfumato.mechanisms.hyperbolic:Hyperbolic",
            "noise in the Poincaré ball, then the nearest word there; rows at low levels",
        ),
        "laplace": (
            "sfumato.mechanisms.laplace:Laplace",
            "multivariate Laplace noise on the word's vector, then the nearest word (MDP)",
        ),
        "latent": (
            "sfumato.mechanisms.rewriting.latent:Latent",
            "an autoencoder writes the document anew from its vector with noise (ADePT, DP-BART)",
        ),
        "levels": (
            "sfumato.mechanisms.levels:Levels",
            "a word mechanism at several levels, each with a policy; the strictest wins",
        ),
        "mahalanobis": (
            "sfumato.mechanisms.mahalanobis:Mahalanobis",
            "Laplace noise in the shape of the vocabulary, then the nearest word",
        ),
        "masked": (
            "sfumato.mechanisms.rewriting.masked:Masked",
            "a masked language model draws every token anew, scores cut to a window (DP-MLM)",
        ),
        "number": (
            "sfumato.mechanisms.number:Number",
            "numbers with noise in stated steps or relative to their size, in their form",
        ),
        "place": (
            "sfumato.mechanisms.place:Place",
            "cities and countries become others, the likelier the nearer, at a level per km",
        ),
        "projected": (
            "sfumato.mechanisms.projected:Projected",
            "a public projection to few dimensions, Laplace noise there, then the nearest word",
        ),
        "pseudonym": (
            "sfumato.mechanisms.pseudonym:Pseudonym",
            "a code by keyed hash, the same for the same entity (baseline, no guarantee)",
        ),
        "redact": (
            "sfumato.mechanisms.redact:Redact",
            "mask what was found by its type, such as [PERSON]",
        ),
        "sanitize-plus": (
            "sfumato.mechanisms.sanitize_plus:SanitizePlus",
            "rare words by their distance, most of the frequent ones as they are (SanText+)",
        ),
        "selective": (
            "sfumato.mechanisms.selective:Selective",
            "apply a word mechanism where a policy finds something, keep the rest (SMDP)",
        ),
        "sentences": (
            "sfumato.mechanisms.rewriting.sentences:Sentences",
            "each sentence becomes one of a public pool, the likelier the nearer in meaning",
        ),
        "surrogate": (
            "sfumato.mechanisms.surrogates.surrogate:Surrogate",
            "another name, number or address of the same type, drawn from public lists and ranges",
        ),
        "temperature": (
            "sfumato.mechanisms.rewriting.temperature:Temperature",
            "a language model writes the document anew, scores cut to a window (DP-Prompt)",
        ),
        "terms": (
            "sfumato.mechanisms.rewriting.terms:Terms",
            "a bag of public words, drawn by the words of a document (SynTF)",
        ),
        "truncated": (
            "sfumato.mechanisms.truncated:Truncated",
            "near words by their distance, all words beyond gamma alike (TEM)",
        ),
        "vickrey": (
            "sfumato.mechanisms.vickrey:Vickrey",
            "Laplace noise, then the nearest word or the second nearest",
        ),
    },
    "methods": {
        "directional": (
            "sfumato.training.methods.directional:Directional",
            "directions of gradients, each replaced by a draw around it (von Mises–Fisher)",
        ),
        "federated": (
            "sfumato.federation.method:Federated",
            "federated averaging: authors are clients, whose updates are clipped (one process)",
        ),
        "gep": (
            "sfumato.training.methods.gep:Gep",
            "DP-SGD in a basis of public gradients, and on what is left (small models)",
        ),
        "interleaved": (
            "sfumato.training.methods.interleaved:Interleaved",
            "DP-SGD on private stretches, plain steps on public ones, in turns (lstm only)",
        ),
        "per-record": (
            "sfumato.training.methods.directional:PerRecord",
            "directions of gradients, each with Gaussian noise (twin of directional)",
        ),
        "plain": (
            "sfumato.training.methods.plain:Plain",
            "ordinary steps on all documents (baseline, no guarantee)",
        ),
        "private": ("sfumato.training.methods.private:Private", "DP-SGD on all documents"),
        "redacted": (
            "sfumato.training.methods.redacted:Redacted",
            "ordinary steps on text with masks (baseline, no guarantee)",
        ),
        "rgp": (
            "sfumato.training.methods.rgp:Rgp",
            "DP-SGD through thin carriers of large matrices, which move with the weights",
        ),
        "selective": (
            "sfumato.training.methods.selective:SelectiveTraining",
            "DP-SGD where a policy finds something, plain steps on text with masks in between",
        ),
        "twice": (
            "sfumato.training.methods.twice:Twice",
            "plain steps on text with masks first, then DP-SGD on what was masked",
        ),
    },
    "models": {
        "bag-of-words": (
            "sfumato.models.bag_of_words:BagOfWords",
            "the mean of learned word vectors, from scratch; a classifier",
        ),
        "bert-small": (
            "sfumato.models.bert_small:BertSmall",
            "a small masked language model in the shape of BERT, from scratch",
        ),
        "bilstm": (
            "sfumato.models.bilstm:BiLstm",
            "one recurrent layer from each end of a text, from scratch; a classifier",
        ),
        "cnn": (
            "sfumato.models.cnn:Cnn",
            "filters over neighboring words, from scratch (Kim 2014); a classifier",
        ),
        "gpt-small": (
            "sfumato.models.gpt_small:GptSmall",
            "a small transformer in the shape of GPT-2, from scratch",
        ),
        "lstm": (
            "sfumato.models.lstm:Lstm",
            "one recurrent layer, from scratch (the model of the Selective-DPSGD paper)",
        ),
        "t5-small-from-scratch": (
            "sfumato.models.t5_small:T5Small",
            "a small encoder and decoder in the shape of T5, from scratch",
        ),
    },
    "policies": {
        "contextual": (
            "sfumato.policies.linguistic.contextual:Contextual",
            "named entities, pronouns, proper nouns, heads of subjects and objects, by spaCy",
        ),
        "digits": ("sfumato.policies.patterns:Digits", "every word that holds a digit"),
        "entities": (
            "sfumato.policies.linguistic.entities:Entities",
            "named entities of 18 types, by spaCy",
        ),
        "everything": ("sfumato.policies.patterns:Everything", "every word"),
        "nothing": ("sfumato.policies.patterns:Nothing", "no word at all"),
        "imperfect": (
            "sfumato.policies.imperfect:Imperfect",
            "another policy with a seeded share of its hits dropped, for experiments",
        ),
        "lexicon": ("sfumato.policies.lexicon:Lexicon", "the words and phrases of a file"),
        "pii": (
            "sfumato.policies.pii.detector:Pii",
            "personal data: names, addresses, phones, e-mails, cards, accounts, dates, codes",
        ),
        "presidio": (
            "sfumato.policies.linguistic.presidio:Presidio",
            "what Presidio's recognizers find, with a spaCy pipeline and no download",
        ),
        "regex": ("sfumato.policies.patterns:Regex", "what a regular expression matches"),
        "tagger": (
            "sfumato.models.tagger_policy:TaggerPolicy",
            "what a tagger finds that was trained before",
        ),
    },
    "representations": {
        "binary": (
            "sfumato.representations.binary_vectors:BinaryVectors",
            "a few bits of a vector, each flipped at random (OME, repaired)",
        ),
        "gaussian": (
            "sfumato.representations.gaussian_vectors:GaussianVectors",
            "Gaussian noise on every number of a bounded vector, with a delta",
        ),
        "laplace": (
            "sfumato.representations.laplace_vectors:LaplaceVectors",
            "multivariate Laplace noise on a bounded vector, or by distance",
        ),
        "per-dimension": (
            "sfumato.representations.per_dimension:PerDimension",
            "Laplace noise on each number by itself (CAPE, FEDERATE, repaired)",
        ),
        "projected": (
            "sfumato.representations.projected_vectors:ProjectedVectors",
            "a public projection to few dimensions, bounded there, then noise",
        ),
    },
    "tokenizers": {
        "bpe": (
            "sfumato.models.learned:Bpe",
            "byte-level byte-pair encoding: all text comes back exactly",
        ),
        "sentencepiece": (
            "sfumato.models.unigram:SentencePiece",
            "byte-level unigram model by SentencePiece: the likeliest pieces",
        ),
        "wordpiece": (
            "sfumato.models.learned:WordPiece",
            "byte-level WordPiece: the longest pieces first, no unknown token",
        ),
    },
    "vectors": {
        "glove-6b-50d": (
            "sfumato.vectors.load:default_space",
            "about 60,000 words of GloVe 6B in 50 dimensions, embedded in the package",
        ),
    },
}

KINDS = tuple(_BUILT_IN)
_SINGULAR = {"policies": "policy", "mechanisms": "mechanism", "vectors": "vectors"}


@cache
def entries(kind: str) -> dict[str, Entry]:
    """All components of a kind, built-in and third-party, by name."""
    if kind not in _BUILT_IN:
        raise UnknownName("kind of component", kind, KINDS)
    found = {name: Entry(kind, name, *place) for name, place in _BUILT_IN[kind].items()}
    for point in entry_points(group=f"sfumato.{kind}"):
        # A third party may add a name, never take one: "laplace" means ours.
        if point.name not in found:
            found[point.name] = Entry(kind, point.name, point.value, f"from {point.module}")
    return dict(sorted(found.items()))


def find(kind: str, name: str) -> Entry:
    """The component of that kind and name, or the nearest name in an error.

    ``file.py:Class`` is a component, too. A name that does not come from a user but from a file is
    looked up in ``entries``, which knows no such names.
    """
    known = entries(kind)
    if OwnClass.read(name) is not None:
        return Entry(kind, name, name, "a class of your own")
    if name not in known:
        raise UnknownName(_SINGULAR.get(kind, kind.removesuffix("s")), name, known)
    return known[name]


def search(name: str) -> list[Entry]:
    """Every component called ``name``; ``KIND/NAME`` names just one."""
    kind, slash, rest = name.partition("/")
    if slash:
        return [find(kind, rest)]
    matches = [entries(kind)[name] for kind in KINDS if name in entries(kind)]
    if not matches:
        raise UnknownName("component", name, {known for kind in KINDS for known in entries(kind)})
    return matches
