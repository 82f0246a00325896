"""Widgets: panels that render content as lines, bars, lists and inputs."""
