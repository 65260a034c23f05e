"""The files of a spool: which there are, what is in each, and the lock of its one writer."""
