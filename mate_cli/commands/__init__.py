"""One thin file per command: typed configuration in, work done, result shown."""
