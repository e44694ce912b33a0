"""The methods of ``sfumato train``, a file each: what they train on, and what they guarantee.

===============  ===========================================  ================================
method           private steps                                public steps
===============  ===========================================  ================================
``private``      DP-SGD on all documents                      none
``rgp``          DP-SGD through carriers of large matrices    none
``gep``          DP-SGD in a basis of public gradients        none
``directional``  draws around the gradients' directions       none
``per-record``   directions, each with Gaussian noise         none
``plain``        ordinary steps on all documents              none
``redacted``     ordinary steps on text with masks            none (all of it counts as public)
``selective``    DP-SGD where a policy finds something        on text with masks, in between
``twice``        DP-SGD on documents with something private   on text with masks, all before
``interleaved``  DP-SGD on private stretches                  on public stretches, in turns
===============  ===========================================  ================================

A method is a frozen dataclass: its fields are its settings, and its ``prepare`` turns documents and
a model into a plan, the material to train on, and a function that trains (``base``). It is found by
name in the catalog, so a new method is one file and one entry.

    base.py                what methods are given, what they return, what they share
    promise.py             what is guaranteed under a policy
    anchors.py             the public basis of ``gep``, computed before each step
    streams.py             documents as a public and a private stream; steps on the public one
    interleaved_steps.py   the steps of interleaved training
    stretch_records.py     its documents, in public and private stretches
"""
