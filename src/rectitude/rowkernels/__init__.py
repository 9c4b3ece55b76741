"""Dense rows of scores: ranks by counting, top-k columns and single targets."""
