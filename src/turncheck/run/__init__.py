"""A run: settings and project in, Report out, compared with its baseline."""
