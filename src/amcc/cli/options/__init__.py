"""What people can say on the command line, by what it is about: one file per kind of input.

A command takes the groups of options that it needs as parameters (see `groups`): how votes are read (`votes`), known
truth (`truth`), features of the items (`features`), who the workers are (`roster`), where it runs (`engines`).
"""
