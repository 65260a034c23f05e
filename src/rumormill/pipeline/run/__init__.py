"""The pipeline at work: what is read, what is refined, in which order."""
