"""Words in a column of presence and absence."""

ABSENT = ("0", "0.0", "absent", "absence", "no", "false")  # whatever their case: the species was not there
