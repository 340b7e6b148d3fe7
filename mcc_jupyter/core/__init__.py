"""The decision: data in, data out. No file, clock, randomness, process or ``os.environ``."""
