"""Tables, questions, and the data formats they are read from. Imports no torch."""
