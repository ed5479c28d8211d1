"""Statements and objects in captions that the references do not support."""
