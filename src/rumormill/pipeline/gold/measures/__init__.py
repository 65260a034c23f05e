"""What gold tables are made with: bins of latency, what a delivery counts as, sums, graphs."""
