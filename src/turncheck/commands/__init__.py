"""The commands: typed parameters in, files and words out, exit code back."""
