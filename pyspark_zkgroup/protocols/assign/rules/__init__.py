"""Pure decisions of reading without joining: fences are the offset nodes alone."""
