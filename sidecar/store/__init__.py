"""The durable state of one namespace: rows, texts, vectors, segments, events, counters."""
