"""Conformance: values made by other frameworks' own code, against ours under their profile."""
