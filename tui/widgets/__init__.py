"""Widgets: panels that render snapshots as lines, bars, lists and inputs."""
