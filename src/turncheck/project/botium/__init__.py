"""Suites in BotiumScript, the files that Botium tests chat assistants with, read as Botium reads them."""
