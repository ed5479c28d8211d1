"""Reproduction of published agreement: values printed in papers beside values computed here."""

from cidery.meta.reproduction.results import Reproduction, reproduce

__all__ = ["Reproduction", "reproduce"]
