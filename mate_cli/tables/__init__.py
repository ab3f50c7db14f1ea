"""Tables, questions and answers: reading, searching, generating. Nothing here imports torch."""
