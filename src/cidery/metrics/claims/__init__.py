"""Claims: what a caption states, claim by claim, and what its references say of each."""
