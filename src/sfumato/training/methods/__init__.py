"""What is trained on, and what is promised: the methods of ``sfumato train``, a file each.

===============  ===========================================  ================================
method           private steps                                public steps
===============  ===========================================  ================================
``private``      DP-SGD on all documents                      none
``plain``        ordinary steps on all documents              none
``redacted``     ordinary steps on text with masks            none (all of it counts as public)
``selective``    DP-SGD where a policy finds something        on text with masks, in between
``twice``        DP-SGD on documents with something private   on text with masks, all before
``interleaved``  DP-SGD on private stretches                  on public stretches, in turns
===============  ===========================================  ================================

A method is a frozen dataclass: its fields are its settings, and ``prepare`` makes of documents and
a model a plan, what is trained on, and a function that trains (``base``). It is found by name in
the catalog, so another method is one file and one entry.

    base.py                what methods are given, what they return, what they share
    promise.py             what is promised under a policy
    streams.py             documents as a public and a private stream of records
    public_steps.py        ordinary steps on public text between private ones
    interleaved_plan.py    the plan of interleaved training, and what it costs
    interleaved_steps.py   its steps
    stretch_records.py     its documents, in public and private stretches
"""
