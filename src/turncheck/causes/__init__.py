"""Which changed part of a project makes a test fail: found by taking parts back and running the test again."""
