"""Reports: evaluations as people read them, in a terminal, in a paper and in a browser."""
