"""Which renderings go where; one that fails hurts no other and never the verdict."""
