"""How a Botium conversation is run and judged, as BotiumScript says."""
