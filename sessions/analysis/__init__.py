"""What the measured cases show together: scaling, rooflines, Pareto fronts, anomalies."""
