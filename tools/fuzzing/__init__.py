"""The kinds of inputs that :mod:`tools.fuzz` tries, one module each."""
