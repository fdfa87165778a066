"""GitHub: what a job there is told, and how it is told what was found."""
