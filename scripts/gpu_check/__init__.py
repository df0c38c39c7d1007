"""The check of a GPU machine: steps, claims, report. Python's own library alone."""
