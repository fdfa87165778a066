"""One run, spread over several jobs, and put together again."""
