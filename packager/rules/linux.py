"""What a Linux package must not carry, and what its board's toolchain accepts."""
