"""What a backend can compute, told from the model before it is compiled."""
