"""Reports: evaluations for people to read, in a terminal, in a paper and in a browser."""
