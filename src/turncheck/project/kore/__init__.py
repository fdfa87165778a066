"""A Kore.ai assistant as its export tells of it."""
