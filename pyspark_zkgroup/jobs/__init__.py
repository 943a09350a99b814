"""What the programs in the folder jobs/ share: arguments, ranges, steps that are done, the end."""
