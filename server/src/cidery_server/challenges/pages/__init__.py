"""The pages of challenges: for everyone, for teams and for the owner."""
