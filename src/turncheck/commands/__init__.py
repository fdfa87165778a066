"""The commands: typed parameters in, files and messages out, an exit code back."""
