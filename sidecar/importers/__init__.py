"""Readers of other memory stores' files: from a file to records for `memory.import`.

Only the command opens files; the daemon is given content. A reader yields, in file order, a
`Record` to be stored, a `BadLine` that stops an import, or a `Notice` that is only told. The same
file always yields the same records with the same ids, so a second import changes nothing.
"""
