"""How dates are written in this language."""
