"""How dates are written, by language; numbers are as Django has them."""
