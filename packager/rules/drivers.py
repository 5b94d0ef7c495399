"""Files that belong to a driver and not to a package, and packages that mix the two."""
