"""Charts view: line charts and the Pareto front of a session."""
