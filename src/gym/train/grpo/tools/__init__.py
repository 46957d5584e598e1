"""Tools that an agent's loop can call: one file each, `TOOL = …`."""
