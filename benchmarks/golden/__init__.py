"""Golden cases made afresh: random inputs, and the values that frameworks compute for them."""
