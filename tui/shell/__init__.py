"""App infrastructure: navigation, key bindings, settings, terminal."""
