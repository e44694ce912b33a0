"""METEOR: words in common, their stems and synonyms included, less for broken order.

Synonyms come from WordNet, which is data and no part of a package. Without it a score would be a
different one under the same name, so none is given: the error says where WordNet is looked for.

Care
    NLTK stems the words that differ before it asks WordNet, so synonyms whose stem is no word
    ("automobile" becomes "automobil") are not found, and the score is a little too low. It also
    refuses a folder of data that other accounts may write to.

Reference
    Banerjee and Lavie 2005; as NLTK computes it.
"""

from __future__ import annotations

from typing import Any

from sfumato.core.checks import extra
from sfumato.core.errors import MissingModel
from sfumato.corpora.words import Words


def meteor(reconstruction: str, reference: str) -> float:
    """METEOR of one text against another, between 0 and 1."""
    wordnet = require_wordnet()
    from nltk.translate.meteor_score import single_meteor_score

    found = [word.lower() for word in Words.of(reconstruction)]
    wanted = [word.lower() for word in Words.of(reference)]
    if not found or not wanted:
        return float(not found and not wanted)
    return float(single_meteor_score(wanted, found, wordnet=wordnet))


def require_wordnet() -> Any:
    """WordNet, or an error that says how to get it."""
    extra("nltk", needed_for="METEOR", extra="attack")
    from nltk.corpus import wordnet

    try:
        wordnet.ensure_loaded()
    except LookupError:
        # The library's own message is a page long.
        pass
    else:
        return wordnet
    raise MissingModel(
        "METEOR needs WordNet, which was not found: set NLTK_DATA to a folder that holds "
        "corpora/wordnet.zip and that nobody else may write to (python -m nltk.downloader wordnet "
        "fetches it); ROUGE-L and Jaccard need no data"
    )
