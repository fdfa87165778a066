"""Rasa's flows (CALM): read with their places, checked, and held against their tests; no model is asked.

What flows, conditions, patterns and tests are follows Rasa's public documentation and what public projects have.
"""
