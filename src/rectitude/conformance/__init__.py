"""Conformance: compare values that other frameworks computed with ours under their profiles."""
