"""Language understanding of a Kore.ai assistant, trained from its export: the stand-in for the platform's engines."""
