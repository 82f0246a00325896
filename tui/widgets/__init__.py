"""What is drawn: panels of lines out of plain snapshots, and the few widgets behind them."""
