"""Sessions as traces that open in Perfetto and Chrome."""
