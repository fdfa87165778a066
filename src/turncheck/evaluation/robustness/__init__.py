"""How NLU copes with the noise of real users: variants of test sentences with the same meaning."""
