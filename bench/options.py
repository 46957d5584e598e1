"""What a bench can be told on its command line."""

import sys


def scale() -> float:
    """`--scale X`: share of the work, for a quick look; 1 is what the targets are meant for."""
    return float(sys.argv[sys.argv.index("--scale") + 1]) if "--scale" in sys.argv else 1.0
