"""Azure DevOps as a CI host."""
