"""Training of policies on many models and machines, and their evaluation on unseen ones."""
