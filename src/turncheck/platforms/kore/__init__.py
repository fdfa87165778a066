"""Assistants of Kore.ai's platform: their export, and the platform itself."""
