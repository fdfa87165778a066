"""The release, in steps that each look first whether they have been done (tools/release/README.md)."""
