"""Rules that find causes in an explained case, by the kind of their evidence."""
