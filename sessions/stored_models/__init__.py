"""Models as files on this machine: the hub's cache, their size, shape and task. Nothing is loaded."""
