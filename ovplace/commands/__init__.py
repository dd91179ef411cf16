"""What the commands other than `optimize` compute: inspect, dry run, measure, optimality gap."""
