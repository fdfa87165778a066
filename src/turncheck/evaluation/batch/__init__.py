"""Batch suites judged: an engine's answers → classes, numbers, tables. Rules: ``docs/batch.md``."""
