"""Files of Rasa 0.x, 1.x and 2.x → the YAML of Rasa 3, with what could not be carried over."""
