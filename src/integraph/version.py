"""The version of Integraph, which files say too."""

VERSION = "0.1.0"
