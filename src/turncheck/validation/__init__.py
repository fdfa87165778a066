"""Project → findings. One module per family; :mod:`.catalogue` knows every code. Start at :mod:`.pipeline`."""

from turncheck.validation import catalogue as catalogue
