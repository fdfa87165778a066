"""Errors, findings, their places, and how they are worded."""
