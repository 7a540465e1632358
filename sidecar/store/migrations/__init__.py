"""The numbered SQL migrations of a namespace."""
