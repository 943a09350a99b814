"""Who we are to servers, and how we know them."""
