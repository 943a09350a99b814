"""Pure decisions of the `kafka` protocol: member states, commit verdicts, fences, assignors."""
