"""Code shared by at least two learned placers; torch is imported only here and in the placers' own packages."""
