"""Studies that compare methods: long, resumable, and started by a command."""
