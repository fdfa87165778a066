"""One module per way out, each with the escaping that its readers need.

Everything from a project or from a report of somebody else goes through one of them before it is shown.
"""
