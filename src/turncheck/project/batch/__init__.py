"""Batch suites: lists of labelled utterances, in the JSON and CSV formats of Kore.ai's platform."""
