"""Verbatim memorization: does a model finish a text it was trained on?"""
