"""`python -m gym` is the command `gym`."""

from gym.cli.main import main

if __name__ == "__main__":
    main()
