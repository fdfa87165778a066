"""The page: ``report.html``, one file with everything that a run found."""
