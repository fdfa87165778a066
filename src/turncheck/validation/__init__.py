"""Project → findings. One module per family of checks; :mod:`.registry` knows every code. Start at :mod:`.pipeline`."""
