"""Case screen: everything known about one case."""
