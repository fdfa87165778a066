"""One module per output format, each with the escaping that its readers need.

Everything from a project or from somebody else's report goes through one of them before it is shown.
"""
