"""Policies that read a text with a trained pipeline: entities, grammar, and Presidio's recognizers.

All of them need the extra ``nlp`` and a spaCy pipeline on this machine; nothing is ever downloaded.
A pipeline is loaded when the first document comes, once per process, and shared by all policies
that name it.
"""
