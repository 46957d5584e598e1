"""The command `gym`: one file a command, each parses, calls and prints."""
