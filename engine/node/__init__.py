"""A machine on which cases run: worker processes, telemetry, energy."""
