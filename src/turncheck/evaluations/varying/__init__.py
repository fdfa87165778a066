"""Tests that vary: how often each runs, in turn with the base, and how its runs are judged."""
