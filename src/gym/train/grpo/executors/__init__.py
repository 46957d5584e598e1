"""Where the work of a run is done: in this process (`local`), or in worker processes of a Ray cluster (`ray`)."""
