"""Gates: rules that can fail a run, each an object that says all about itself (:mod:`turncheck.gates.table`)."""
