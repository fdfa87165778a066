"""How good the tests are: the project with one small fault at a time, and whether any test notices it."""
