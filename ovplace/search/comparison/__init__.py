"""The final comparison: who meets the baselines, in how many rounds, and what is judged of it."""
