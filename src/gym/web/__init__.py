"""Pages of a site as readable text: fetched within limits, searched, recorded."""
