"""Metrics on n-grams: CIDEr, CIDEr-D, CIDEr-R, BLEU, ROUGE."""
