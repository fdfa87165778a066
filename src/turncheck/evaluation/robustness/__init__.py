"""How language understanding bears the noise of real users: variants of test sentences that mean the same."""
