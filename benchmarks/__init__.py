"""How fast the package is, as ratios against a plain way to do the same: ``python -m benchmarks`` (``make bench``)."""
