"""The `forgetd` command: one file per command.

Starts without the server: it talks to the daemon through `sidecar.client`, and only `serve` and
`doctor` load more. Data goes to standard output, talk to standard error.
"""
