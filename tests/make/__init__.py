"""Builders of small genuine values for tests."""
