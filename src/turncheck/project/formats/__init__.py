"""File formats of Rasa projects."""
