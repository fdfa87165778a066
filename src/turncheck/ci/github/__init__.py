"""GitHub: what a job there knows, and how what was found gets there."""
