"""GitLab as a CI host."""
