"""GPU readers: the protocol, the vendors' readers, and which GPUs a process sees."""
