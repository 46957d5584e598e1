"""Evaluate a model without and with a library: the command `gym eval` as a script, with its options."""

import sys

from gym.cli.main import main

if __name__ == "__main__":
    sys.argv[1:] = ["eval", *sys.argv[1:]]
    main()
