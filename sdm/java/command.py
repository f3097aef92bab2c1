"""A command line of maxent.jar, read as Java Maxent reads it: `key=value`, words for booleans, and short forms."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sdm.errors import OptionError
from sdm.java.flags import FLAGS, IGNORED, SHORT, WARNED, JavaFlag

TOGGLES = ("togglelayertype", "togglelayerselected", "togglespeciesselected")
_OFF = ("no", "dont")
_WORDS = {word: flag for flag in FLAGS.values() for word in flag.words}
_TRUTH = {"true": True, "false": False}


@dataclass
class JavaCommand:
    """The values of all flags, those that were given, and what is to be said of them."""

    values: dict[str, Any] = field(default_factory=lambda: {flag.name: flag.default for flag in FLAGS.values()})
    given: dict[str, Any] = field(default_factory=dict)
    toggles: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in TOGGLES})

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def set(self, flag: JavaFlag, value: Any) -> None:
        """Give a flag a value of its type."""
        if flag.name in self.toggles:
            self.toggles[flag.name].append(str(value))
        else:
            self.values[flag.name] = value
        self.given[flag.name] = value

    @property
    def warnings(self) -> list[str]:
        """What was asked for and is not done."""
        changed = [FLAGS[name] for name, value in self.given.items() if value != FLAGS[name].default]
        return [f"{flag.name}={_shown(self.given[flag.name])} has no effect: {flag.text}"
                for flag in changed if flag.does == WARNED]  # fmt: skip

    @property
    def ignored(self) -> list[str]:
        """The flags that were given, of which results do not depend."""
        return [name for name in self.given if FLAGS[name].does == IGNORED]


def read_command(words: Sequence[str]) -> JavaCommand:
    """Read the words of a command of maxent.jar.

    Raises
    ------
    OptionError
        If a word is no flag of Java Maxent, or has a value that makes no sense; all such words are named.
    """
    command, wrong, rest = JavaCommand(), list[str](), list(words)
    while rest:
        word = rest.pop(0)
        if word.startswith("-") and len(word) == 2 and word[1] in SHORT:
            flag = SHORT[word[1]]
            if isinstance(flag.default, bool):
                command.set(flag, not command[flag.name])  # as Java Maxent: a short form turns it round
            elif not rest or not _set(command, flag, rest.pop(0)):
                wrong.append(word)
        elif word.startswith("-") or not _read_word(command, word):
            wrong.append(word)
    if wrong:
        listed = ", ".join(f"'{word}'" for word in wrong)
        raise OptionError(f"{listed}: not understood as flags of Java Maxent; expected such as betamultiplier=2")
    return command


def _read_word(command: JavaCommand, word: str) -> bool:
    """Take one word that is no short form; return whether it was understood."""
    key, sign, value = word.partition("=")
    key = key.lower()
    if sign:
        return key in FLAGS and _set(command, FLAGS[key], value)
    if key == "redoifexists":
        key = "noaskoverwrite"
    if key in FLAGS and isinstance(FLAGS[key].default, bool):
        command.set(FLAGS[key], True)
        return True
    for off in _OFF:
        name = key.removeprefix(off)
        if name != key and name in FLAGS and isinstance(FLAGS[name].default, bool):
            command.set(FLAGS[name], False)
            return True
    if key in _WORDS:
        command.set(_WORDS[key], key)
        return True
    return False


def _set(command: JavaCommand, flag: JavaFlag, text: str) -> bool:
    """Give a flag the value that a text means; return whether it means one."""
    text = text.strip()
    if isinstance(flag.default, bool):
        value: Any = _TRUTH.get(text.lower())
    elif isinstance(flag.default, int | float):
        value = _number(text, type(flag.default))
    elif flag.words:
        value = text.lower() if text.lower() in flag.words else None
    else:
        value = text
    if value is None:
        return False
    command.set(flag, value)
    return True


def _number(text: str, kind: type) -> Any:
    try:
        number = float(text)
    except ValueError:
        return None
    return kind(number) if kind is float or number == round(number) else None


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
