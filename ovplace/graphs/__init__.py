"""The operations of a model as immutable arrays, and what follows from their structure alone."""
