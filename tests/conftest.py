"""What holds for all tests."""

from hypothesis import settings

# A busy machine makes a single example slow now and then; what must be fast has a test or a benchmark of its own.
settings.register_profile("turncheck", deadline=None)
settings.load_profile("turncheck")
