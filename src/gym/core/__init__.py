"""Pure values and rules of the method: no files, clocks, network, numpy or asyncio."""
