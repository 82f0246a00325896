"""Statistics of measured steps: percentiles, intervals, noise, and ratios with their verdicts."""
