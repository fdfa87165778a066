"""The team's real assistant: a running Rasa server (open source 3.x, Pro where its REST API is the same)."""
