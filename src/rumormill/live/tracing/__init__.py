"""Who hears of what happens, with what repeats summed up."""
