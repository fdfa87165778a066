"""Action servers, which run custom actions."""
