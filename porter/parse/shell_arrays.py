"""Arrays of a shell script, and commands kept in variables: CMD=(nvcc -O3); CMD+=(-lineinfo); "${CMD[@]}" a.cu."""

from __future__ import annotations

import re

from porter.parse.shell_words import Command, Word

MAX_WORDS = 200  # of one array
MAX_EXPANDED = 2_000  # words of one command that arrays and variables put in
_OPENED = re.compile(r"([A-Za-z_]\w*)(\+?)=\Z")
_ALL = re.compile(r"\$\{([A-Za-z_]\w*)\[[@*]\]\}\Z")
_PLAIN = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))\Z")
_ENDS = frozenset((")", ";", ";;", "&", "&&", "||"))  # all but the first show that the parenthesis was forgotten
_COMPUTED = re.compile(r"[$`;|&<>()\"']")


class Arrays:
    """The arrays that a script has set so far."""

    def __init__(self) -> None:
        """None yet."""
        self._held: dict[str, list[str]] = {}
        self._open = ""

    def takes(self, command: Command) -> bool:
        """True for a command that is no command: the words of an array, from after NAME=( to the closing parenthesis."""
        if self._open:
            held = self._held[self._open]
            held += [word.text for word in command.words[: MAX_WORDS - len(held)]]
            if command.stop in _ENDS:
                self._open = ""
            return True
        opened = _OPENED.match(command.words[-1].text) if command.words and command.stop == "(" else None
        if opened is not None:
            self._open = opened[1]
            self._held[opened[1]] = self._held.get(opened[1], []) if opened[2] else []
        return False

    def expand(self, words: list[Word], known: dict[str, str]) -> list[Word]:
        """The words with arrays put in, and at the front a variable that holds a command with arguments; all at the place of use."""
        found: list[Word] = []
        left = MAX_EXPANDED
        for word in words:
            whole = _ALL.match(word.text)
            texts = self._held.get(whole[1]) if whole is not None else None
            if texts is None and not found and not word.quoted:
                texts = self._command(word.text, known)
            if texts is None or len(texts) > left:
                found.append(word)
            else:
                found += [Word(text, word.start, word.end) for text in texts]
                left -= len(texts)
        return found

    @staticmethod
    def _command(text: str, known: dict[str, str]) -> list[str] | None:
        """The words of a command that an unquoted variable holds; None where it holds no more than one word or something computed."""
        match = _PLAIN.match(text)
        value = known.get(match[1] or match[2], "") if match is not None else ""
        return value.split() if " " in value.strip() and not _COMPUTED.search(value) else None
