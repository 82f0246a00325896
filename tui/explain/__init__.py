"""Page "Why": where the time of a case's step goes, and what makes the difference to another case."""
