"""Rasa's assistants: projects of several files."""
