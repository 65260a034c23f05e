"""What every room shares: message, topic, machine, effects, trace events, errors."""
