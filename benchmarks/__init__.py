"""What is claimed of speed and size, measured: `python -m benchmarks`, or `make bench`."""
