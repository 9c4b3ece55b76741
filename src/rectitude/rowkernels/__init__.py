"""Dense rows of scores: ranks by counting, top lists, single targets."""
