"""An example of a plugin for turncheck."""
