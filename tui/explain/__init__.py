"""Page "Why": where the time of a case's step goes, and what makes it differ from another case."""
