"""Pictures of programs, as data and as files."""
