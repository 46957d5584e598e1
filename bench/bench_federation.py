"""`make bench ONLY=federation`: the attacks of `bench.federated`."""

import sys

from bench.federated import main

if __name__ == "__main__":
    sys.exit(main())
