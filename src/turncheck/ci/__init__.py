"""CI hosts, and git."""
