"""Language understanding of a Kore.ai assistant, trained from its export: what stands in for the platform's engines."""
