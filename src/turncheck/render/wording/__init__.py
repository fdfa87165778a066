"""What facts say in words: one place for the comment, the terminal, the page, JUnit and ``verdict.json``."""
