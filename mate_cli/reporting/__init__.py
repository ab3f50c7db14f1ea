"""What people read: tables on the terminal, files for other programs."""
