"""Tools that a model may call in agent mode: one file each, found by name."""
