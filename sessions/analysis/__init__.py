"""Analysis across measured cases: scaling, rooflines, Pareto fronts, anomalies."""
