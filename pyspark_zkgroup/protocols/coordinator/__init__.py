"""The elected coordinator at work: election, registry, commands. What it decides is in group/."""
