"""What can be learned from data and models beyond a score; imports of commands and the command line are not allowed."""
