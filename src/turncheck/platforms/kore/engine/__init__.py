"""A Kore.ai assistant on its platform as an engine, over the platform's public API."""
