"""Batch suites: lists of labelled utterances, in the JSON and the CSV of Kore.ai's platform."""
