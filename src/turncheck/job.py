"""The main job, told top to bottom."""
