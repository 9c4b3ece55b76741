"""One module per framework: how its own code is called for a drawn input."""
