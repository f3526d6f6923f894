"""The transparency log: records of acts, and the tree that fixes their order."""
