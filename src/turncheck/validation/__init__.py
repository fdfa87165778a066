"""Project → findings. One module per family of checks; :mod:`.findings` knows every code. Start at :mod:`.pipeline`."""
