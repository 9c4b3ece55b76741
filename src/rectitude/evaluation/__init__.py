"""Running an evaluation, from inputs to results. The formulas of metrics are elsewhere."""
