"""Real models on real compilers: `python -m tests.models` writes docs/models.md."""
