"""What something new begins with, for `tools/new.py`."""
