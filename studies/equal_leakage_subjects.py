"""What differs between the corpora on which all methods are compared at equal leakage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A corpus: its ``file`` of figures, what is said of it, and its ``words`` for dialogues.

    ``texts`` are those that are trained on, with a place for the number of ``secrets``, ``count``
    how many they are, and in how many of them the policy finds something (``held``) may stand in
    ``utility`` and ``caveat``.
    """

    file: str
    title: str
    texts: str
    count: int
    utility: str
    other_pools: str
    commands: Sequence[str]
    looked_at: str
    caveat: str
    words: Mapping[str, str] = field(default_factory=dict)

    def named(self, text: str) -> str:
        """A text that speaks of dialogues, for this corpus.

        >>> SST2.named("a dialogue, and other dialogues")
        'a sentence, and other sentences'
        """
        for word, other in self.words.items():
            text = text.replace(word, other)
        return text


CUSTOMERSIM = Subject(
    file="equal-leakage",
    title="All methods at equal measured leakage",
    texts=(
        "300 dialogues of CustomerSim, in which {secrets} secrets of six digits (“My ID is "
        "341752.”) are planted 15 times each; a one-layer LSTM with 200 units that has read "
        "public dialogues of another shop and is then trained with the method, or on the text that "
        "the method made"
    ),
    count=300,
    utility=(
        "Utility is the perplexity on 300 other dialogues as they are, their names and numbers "
        "included, per token of a vocabulary of 1,024."
    ),
    other_pools="Another shop's pools",
    commands=(
        "python studies/public_dialogues.py PUBLIC",
        "python studies/equal_leakage_corpus.py RESOURCES/data/customersim CORPUS",
        "SFUMATO_PUBLIC=PUBLIC SFUMATO_EQUAL=CORPUS sfumato study run studies/equal-leakage.toml "
        "--workers 1 --allow-path PUBLIC --allow-path CORPUS",
        "SFUMATO_PUBLIC=PUBLIC SFUMATO_EQUAL=CORPUS sfumato study run "
        "studies/equal-leakage-pool.toml --workers 1 --allow-path PUBLIC --allow-path CORPUS",
    ),
    looked_at=(
        "What was looked at before: levels, passes and rates were set by a few pilot runs with "
        "seed 1, which is not shown, on the same test texts. Methods did not get the same care: "
        "DP-SGD, directional noise, Selective-DPSGD and synthetic text have the first rates and "
        "passes that were tried, rewriting had its passes changed twice. After a look at first "
        "figures of seed 2, MDP was left the marks of who speaks (SYS, USR) and capitals, and SMDP "
        "capitals; without that MDP had a perplexity of about 28 at its largest levels. The "
        "dialogues were drawn anew once, after the public model alone had told the first ones from "
        "the others (AUC 0.44). What counts as chance was changed after figures of all seeds, "
        "since methods whose runs vary much had passed by that. The best level of a method is "
        "chosen by the figures that are shown, which flatters methods with many levels a little."
    ),
    caveat=(
        "One corpus, from templates: with names and numbers gone, one dialogue is much like "
        "another, so that methods which replace just these look good here, and the membership of "
        "dialogues hardly shows what else a model remembers. Numbers are in no vocabulary, so that "
        "MDP and SMDP draw others of the same shape at every level, and exposure says nothing "
        "about their ε; both show capitals and the shapes of such words, as their guarantees say. "
        "What comes from a public pool cannot hold a planted secret, whatever the level. "
        "“Another shop's pool” are generated dialogues, the other pool is of the same "
        "templates as the private dialogues: the best that there could be. Whoever has such a pool "
        "could also begin every other method with a model of it, which was not tried. The attack "
        "on dialogues looks at the loss alone, not at that of the public model beside it. "
        "[Sentences of reviews](equal-leakage-sst2.md) are a corpus of another kind."
    ),
)

SST2 = Subject(
    file="equal-leakage-sst2",
    title="All methods at equal measured leakage, on sentences of reviews",
    texts=(
        "1,500 sentences of SST-2, beside which {secrets} secrets of six digits (“My ID is "
        "341752.”) are planted 15 times each; a one-layer LSTM with 200 units that has read "
        "sentences of IMDb and is then trained with the method, or on the text that the method made"
    ),
    count=1500,
    utility=(
        "Utility is the perplexity on 700 other sentences as they are, per token of a vocabulary "
        "of 1,024. [Conversations from templates](equal-leakage.md) are another kind of "
        "text, of which little is left once names and numbers are gone; here the policy finds "
        "something, a planted secret or a name, in {held} of the 1,500 sentences, and leaves most "
        "words of each as they are."
    ),
    other_pools="Pools of IMDb",
    commands=(
        "python studies/equal_leakage_sst2.py RESOURCES/data SENTENCES",
        "SFUMATO_SENTENCES=SENTENCES sfumato study run studies/equal-leakage-sst2-search.toml "
        "--workers 1 --allow-path SENTENCES",
        "SFUMATO_SENTENCES=SENTENCES sfumato study run studies/equal-leakage-sst2.toml "
        "--workers 1 --allow-path SENTENCES",
        "SFUMATO_SENTENCES=SENTENCES sfumato study run studies/equal-leakage-sst2-pool.toml "
        "--workers 1 --allow-path SENTENCES",
    ),
    looked_at=(
        "What was looked at before: a first version, with seed 1, had 500 sentences and the passes "
        "and rates of the conversations, and its model without privacy was a worse one of other "
        "sentences than before it was trained. So sentences were drawn anew, three times as many, "
        "and passes and rates were searched on others, as the last table has it: those of training "
        "without noise, of DP-SGD and of Selective-DPSGD, but not those of directional noise, "
        "which has DP-SGD's, nor of rewriting and synthetic text, which have those of training "
        "without noise. Some of the sentences of the test were among those of the first version. "
        "Levels are those of the conversations, except that a text has up to 4 sentences to "
        "rewrite, which can cost 147.6 at most, and that DP-SGD was given a level of 0.5 after "
        "figures of seed 1 had shown that at 2 it still gives secrets away; what counts as chance "
        "was changed after figures of two seeds. 600 texts are made, so that a model of them takes "
        "two fifths of the steps of others: at ε = 1 most of the votes for more of them would be "
        "noise. The best level of a method is chosen by the figures that are shown, which flatters "
        "methods with many levels a little."
    ),
    caveat=(
        "The policy finds something in {held} of 1,500 sentences, planted secrets and names: "
        "made-up values, masks, SMDP and Selective-DPSGD leave all else as it is, and promise "
        "nothing for it. Numbers are "
        "in no vocabulary, so that MDP and SMDP draw others of the same shape at every level, and "
        "exposure says nothing about their ε. What comes from a public pool cannot hold a planted "
        "secret, whatever the level. The pool of the same kind are other sentences of SST-2, as "
        "many as the private ones: the best that there could be. Whoever has such a pool could "
        "also begin every other method with a model of it, which was not tried; of the pool of "
        "IMDb a third was also read by the public model. Training without privacy is no best case: "
        "it has four passes, and methods with more of them may do better (Selective-DPSGD has as "
        "many on public text and private steps besides); of the search for it, eight passes at a "
        "smaller rate had a little less and were not taken. The attack on sentences "
        "looks at the loss alone, not at that of the public model beside it."
    ),
    words={"dialogues": "sentences", "dialogue": "sentence", "Dialogues": "Sentences"},
)
