"""Pure decisions that all protocols with owner nodes share."""
