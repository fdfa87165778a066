"""Settings: from flags, inputs and the project's own file."""
