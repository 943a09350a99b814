"""Record batches as bytes become Arrow columns: the native decoder and its Python reference."""
