"""The program as a whole: how long commands take, from start to end."""
