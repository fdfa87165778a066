"""Judging batch suites: an engine's answers → classes, numbers, tables. Rules: ``docs/kore.md``."""
