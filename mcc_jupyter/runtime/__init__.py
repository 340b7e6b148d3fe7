"""The world: files, processes, time and state."""
