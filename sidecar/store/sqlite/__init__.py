"""The embedded database of one namespace: connections, the writer thread, rows."""
