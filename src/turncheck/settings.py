"""One frozen Settings; every field knows its flag, its action input, its key in turncheck.yml."""
