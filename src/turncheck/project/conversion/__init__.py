"""Files of Rasa 0.x, 1.x and 2.x → the YAML of Rasa 3, and what could not be converted."""
