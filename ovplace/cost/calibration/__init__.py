"""Cost tables from measurements: assembled from parts, fitted to placements."""
