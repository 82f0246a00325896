"""The screens of the app; what they show is drawn by ``tui.widgets``."""
