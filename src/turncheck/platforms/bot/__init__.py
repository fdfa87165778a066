"""Bots over HTTP: what a folder with ``bot:`` in its ``turncheck.yml`` and tests is, without Rasa or Kore.ai."""
