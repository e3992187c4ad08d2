"""Errors that a person, not a programmer, has to act on.

It lies in the lowest room so that every room can raise it and every script can turn it into one line and
exit code 2 (`evaluation.commands.exit_codes`). It says nothing of tool answers: those are results the model reads.
"""


class InputError(Exception):
    """Bad input: the message is one line and says what is wrong, with which value, and what to do next."""
