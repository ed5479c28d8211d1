from .languages import choose_tokenizer as choose_tokenizer
