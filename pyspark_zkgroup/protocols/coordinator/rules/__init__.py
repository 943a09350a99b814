"""What one elected coordinator decides for its groups, whatever carries its commands."""
