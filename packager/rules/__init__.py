"""Rules: pure functions from a case (plan, files, proofs) to findings. One file per concern, no I/O."""
