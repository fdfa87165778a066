"""Any bot over HTTP as an engine, asked as ``bot:`` in ``turncheck.yml`` says."""
