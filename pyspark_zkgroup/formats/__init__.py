"""Keys and values as typed columns: one module or folder for each format, behind the port."""
