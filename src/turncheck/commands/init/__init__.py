"""``turncheck init``: proposes the files that a repository with assistants needs first."""
