"""What the commands print: lines, for programs and for people, and errors as sentences."""
