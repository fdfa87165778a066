"""This process and its children: output, interrupts, temporary files, environment, secrets."""
