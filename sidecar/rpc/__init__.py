"""The wire: JSON-RPC 2.0 over HTTP on a Unix socket."""
