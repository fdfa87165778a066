"""A Kore.ai assistant as described by its export."""
