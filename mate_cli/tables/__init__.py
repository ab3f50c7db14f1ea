"""What a table and a question are, and one reader per benchmark. Knows no torch."""
