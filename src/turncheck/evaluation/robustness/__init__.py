"""How language understanding copes with the noise of real users: variants of test sentences that mean the same."""
