"""Where work runs: in this process, in others of this machine, or on the workers of a cluster."""
