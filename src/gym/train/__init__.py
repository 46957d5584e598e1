"""Ways of making a model better."""
