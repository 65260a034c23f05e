"""What a node says and hears: queries, answers, effects, what is dropped and what is paid for."""
