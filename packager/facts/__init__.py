"""Readers: what a file says about itself, from its bytes, without opinion."""
