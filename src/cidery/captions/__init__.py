"""Captions: corpora, files, words, and what references are like."""
