"""What a context binary or DLC says about its options, against what its SoC and release can do."""
