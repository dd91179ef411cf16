"""The smallest cut that still fails as a trial of a run did, with a program that shows it."""
