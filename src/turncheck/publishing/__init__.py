"""Where results go: files, terminal, CI host."""
