"""What a library is worth: measured, with its error."""
