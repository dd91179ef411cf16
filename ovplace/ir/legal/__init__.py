"""Which operations HETERO cannot run apart, and which device supports which operation."""
