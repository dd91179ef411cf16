"""What the papers report beside what comes out here, and the machine made after one of them."""
