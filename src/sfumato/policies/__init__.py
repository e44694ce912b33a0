"""Policies: which words of a document are sensitive, by which rule and why."""
