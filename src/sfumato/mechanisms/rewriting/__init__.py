"""Mechanisms that rewrite whole documents: one draw for a sentence, or one for each token."""
