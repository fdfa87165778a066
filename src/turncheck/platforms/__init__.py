"""What assistants are made for: one package for each platform, one line each in :mod:`.registry`."""
