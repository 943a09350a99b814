"""What the jobs of the folder jobs/ share: arguments, the end of a run, batches, ranges."""
