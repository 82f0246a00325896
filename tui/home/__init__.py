"""Home view: this machine, the models on it, and what is known about them."""
