"""Parts of a model as models of their own."""
