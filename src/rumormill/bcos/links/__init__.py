"""What every long connection of this family has: a line of what is to be written, questions that
wait for their answers, and the turn in which all of it happens.
"""
