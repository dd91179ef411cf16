"""The Python interface: what `import ovplace` offers, imported when it is asked for."""
