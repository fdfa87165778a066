"""turncheck: tests for chat assistants, on every pull request."""

__version__ = "0.1.0"
