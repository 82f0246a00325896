"""Around the pages: navigation, keys, settings, the terminal."""
