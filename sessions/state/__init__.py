"""What is known of a session: the state that its events add up to."""
