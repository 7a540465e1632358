"""forgetd: a daemon that owns forgetting for AI-agent memory."""

__version__ = "0.1.0"

# The integer in the header `forgetd-protocol`: another one means another protocol.
PROTOCOL_VERSION = 1
