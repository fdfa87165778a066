"""Edits of an assistant's files, harmless and harmful, as authors make them."""
