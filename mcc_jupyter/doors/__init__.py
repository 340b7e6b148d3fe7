"""One file for each host, with the same verbs in each."""
