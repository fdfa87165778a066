"""End-to-end cases: files, shapes, types."""
