"""The paper from beginning to end, computed."""
