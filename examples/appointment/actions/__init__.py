"""The actions of the salon's assistant."""
