"""The commands as they are typed: their options and their help."""
