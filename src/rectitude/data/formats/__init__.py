"""File formats: how to detect, read and write them."""
