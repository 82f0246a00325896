"""View models: plain snapshots of a session for its pages. Independent of Textual."""
