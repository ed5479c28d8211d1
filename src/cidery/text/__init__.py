"""Text processing: tokenizers, segmenters, languages, scripts, stop words."""
