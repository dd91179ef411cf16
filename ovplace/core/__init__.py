"""The values and roles that everything else is made of."""
