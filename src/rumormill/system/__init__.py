"""What every room asks of the machine it runs on: files, and what is installed."""
