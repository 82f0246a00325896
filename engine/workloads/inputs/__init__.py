"""Inputs of the built-in tasks: batches of tokens, images and audio, and where texts come from."""
