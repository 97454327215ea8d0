"""A program on one page."""
