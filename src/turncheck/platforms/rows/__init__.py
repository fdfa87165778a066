"""What each platform is: a row for each, in a module of its own."""
