"""Stages of placements: whether they are as fast as by HETERO, what their times predict, and what they save."""
