"""Training of policies over many models and machines, and what they are worth on unseen ones."""
