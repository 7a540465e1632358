"""The long-running process: directories, locks, the socket, signals, and the way it ends."""
