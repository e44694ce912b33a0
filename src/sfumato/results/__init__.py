"""Figures as they are handed on: rows of a study, measured predictions, scores of an attack."""
