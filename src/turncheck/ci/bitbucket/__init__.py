"""Bitbucket as a CI host."""
