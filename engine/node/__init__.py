"""Node: one machine with its worker processes, telemetry and energy readings."""
