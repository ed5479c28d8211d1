"""Metrics on language models: BERTScore, inter-reference variance, consensus."""
