"""Words of a shell script: commands, quoting, continuations, heredocs, substitutions and the keywords before a command."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MAX_WORD = 100_000
MAX_COMMANDS = 50_000


def names(text: str) -> frozenset[str]:
    """The blank-separated names of a text."""
    return frozenset(text.split())


KEYWORDS = frozenset(
    ("if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "{", "}", "!", "time")
)
_PLAIN = re.compile(r"[^\s'\"`$\\;|&()<>#]+")
_BLANKS = re.compile(r"[ \t\r]+")
_IN_QUOTES = re.compile(r"[^\"\\$`]+")
_NEXT = {"(": re.compile(r"[\\'()]"), "{": re.compile(r"[\\{}]")}  # what counts on the way to a closing bracket
_HEREDOC = re.compile(r"<<(-?)[ \t]*(['\"]?)([A-Za-z_][\w.-]*|\\?[A-Z_]+)\2")
_ASSIGN = re.compile(r"[A-Za-z_]\w*\+?=")


@dataclass(frozen=True)
class Word:
    """One word: text with quotes removed, place in the text, and whether any of it was quoted."""

    text: str
    start: int
    end: int
    quoted: bool = False


@dataclass
class Command:
    """Words up to an operator. ``lead`` are the keywords before them, ``stop`` the operator, ``bodies`` heredoc ranges.

    ``pattern`` marks the words before the `)` of a case branch (shell_guards.py sets it).
    """

    words: list[Word] = field(default_factory=list)
    lead: list[str] = field(default_factory=list)
    stop: str = ""
    nested: list[tuple[int, int]] = field(default_factory=list)
    bodies: list[tuple[int, int]] = field(default_factory=list)
    redirects: list[Word] = field(default_factory=list)
    pattern: bool = False


class Lexer:
    """Cuts a stretch of text into commands; never raises, an open quote counts as an ordinary character."""

    def __init__(self, text: str, start: int, end: int) -> None:
        """Read from ``start`` up to ``end``."""
        self.text = text
        self.at = start
        self.end = min(end, len(text))
        self.command = Command()
        self.commands: list[Command] = []
        self._here: list[tuple[str, bool, Command]] = []

    def run(self) -> list[Command]:
        """All commands in order."""
        while self.at < self.end and len(self.commands) < MAX_COMMANDS:
            self._step()
        self._finish("")
        return self.commands

    def _step(self) -> None:
        text, at = self.text, self.at
        char = text[at]
        if char == "\n":
            self.at += 1
            self._finish("\n")
            self._heredoc_bodies()
        elif blanks := _BLANKS.match(text, at, self.end):
            self.at = blanks.end()
        elif char == "\\" and text[at + 1 : at + 3] in ("\n", "\r\n") or text[at : at + 2] == "\\\n":
            self.at = text.index("\n", at) + 1
        elif char == "#":
            self.at = _line_end(text, at, self.end)
        elif char in "<>" or text[at : at + 2] == "&>":
            self._redirect()
        elif char in ";|&()":
            stop = text[at : at + 2] if text[at : at + 2] in ("&&", "||", ";;") else char
            self.at += len(stop)
            self._finish(stop)
        else:
            self._word()

    def _finish(self, stop: str) -> None:
        command = self.command
        if not command.words and not command.lead and not command.nested and stop not in (")", ";;"):
            return
        command.stop = stop
        self.commands.append(command)
        self.command = Command()

    def _word(self) -> None:
        word = self._read_word()
        if self.at <= word.start:
            self.at = word.start + 1
        if not self.command.words and not word.quoted and word.text in KEYWORDS:
            self.command.lead.append(word.text)
            return
        self.command.words.append(word)

    def _read_word(self) -> Word:
        text, start, quoted = self.text, self.at, False
        parts: list[str] = []
        while self.at < self.end and self.at - start < MAX_WORD:
            char = text[self.at]
            plain = _PLAIN.match(text, self.at, self.end)
            if plain:
                parts.append(plain[0])
                self.at = plain.end()
            elif char == "\\":
                parts.append("" if text[self.at + 1 : self.at + 2] in ("\n", "\r") else text[self.at + 1 : self.at + 2])
                self.at += 3 if text[self.at + 1 : self.at + 3] == "\r\n" else 2
            elif char == "#" and self.at > start:
                parts.append(char)
                self.at += 1
            elif char in "'\"":
                quoted = True
                parts.append(self._quoted(char))
            elif char in "$`":
                parts.append(self._dollar())
            else:
                break
        return Word("".join(parts), start, min(self.at, self.end), quoted)

    def _quoted(self, quote: str) -> str:
        text, start = self.text, self.at + 1
        if quote == "'":
            stop = text.find("'", start, self.end)
            self.at = stop + 1 if stop >= 0 else start
            return text[start:stop] if stop >= 0 else "'"
        at = start
        parts: list[str] = []
        while at < self.end:
            plain = _IN_QUOTES.match(text, at, self.end)
            if plain:
                parts.append(plain[0])
                at = plain.end()
                continue
            char = text[at]
            if char == '"':
                self.at = at + 1
                return "".join(parts)
            if char == "\\":
                parts.append("" if text[at + 1 : at + 2] == "\n" else text[at + 1 : at + 2])
                at += 2
            else:  # $ or `
                self.at = at
                parts.append(self._dollar())
                at = max(self.at, at + 1)
        self.at = self.end
        return "".join(parts)

    def _dollar(self) -> str:
        """Pass `$x`, `${…}`, `$(…)` or a back-quoted command; its raw text. Inner commands are noted in ``nested``."""
        text, start = self.text, self.at
        two = text[start : start + 2]
        if two == "$(":
            stop = _closing(text, start + 2, self.end, "(", ")")
            if text[start + 2 : start + 3] != "(":
                self.command.nested.append((start + 2, stop))
            self.at = min(stop + 1, self.end)
        elif two == "${":
            self.at = min(_closing(text, start + 2, self.end, "{", "}") + 1, self.end)
            inner = text.find("$(", start + 2, self.at)  # the first command in a default: ${NAME:-$(command)}
            if inner >= 0 and text[inner + 2 : inner + 3] != "(":
                self.command.nested.append((inner + 2, _closing(text, inner + 2, self.at, "(", ")")))
        elif text[start] == "`":
            stop = text.find("`", start + 1, self.end)
            if stop < 0:
                self.at = start + 1
                return "`"
            self.command.nested.append((start + 1, stop))
            self.at = stop + 1
        else:
            self.at = start + 1
        return text[start : self.at]

    def _redirect(self) -> None:
        here = _HEREDOC.match(self.text, self.at, self.end)
        if here and self.text[self.at : self.at + 3] != "<<<":
            self._here.append((here[3].lstrip("\\"), bool(here[1]), self.command))
            self.at = here.end()
            return
        words = self.command.words
        if words and words[-1].end == self.at and words[-1].text.isdigit():
            words.pop()
        while self.at < self.end and self.text[self.at] in "<>&":
            self.at += 1
        while self.at < self.end and self.text[self.at] in " \t":
            self.at += 1
        if self.at < self.end and self.text[self.at] not in "\n;|&()":
            self.command.redirects.append(self._read_word())

    def _heredoc_bodies(self) -> None:
        for delimiter, dash, command in self._here:
            start = self.at
            while self.at < self.end:
                stop = _line_end(self.text, self.at, self.end)
                line = self.text[self.at : stop].rstrip("\r")
                body_end, self.at = self.at, stop + 1
                if (line.lstrip("\t ") if dash else line.strip()) == delimiter:
                    command.bodies.append((start, body_end))
                    break
            else:
                command.bodies.append((start, self.end))
        self._here = []


def _line_end(text: str, at: int, end: int) -> int:
    stop = text.find("\n", at, end)
    return stop if stop >= 0 else end


def _closing(text: str, at: int, end: int, opens: str, closes: str) -> int:
    """Offset of the bracket that closes one opened before ``at``; the end if none does. Quotes are honoured."""
    depth = 1
    limit = min(end, at + MAX_WORD)
    while found := _NEXT[opens].search(text, at, limit):
        at, char = found.start(), found[0]
        if char == "\\":
            at += 1
        elif char == "'":
            stop = text.find("'", at + 1, limit)
            at = stop if stop >= 0 else at
        elif char == opens:
            depth += 1
        elif char == closes:
            depth -= 1
            if depth == 0:
                return at
        at += 1
    return limit


def assignment(word: Word) -> tuple[str, str] | None:
    """Name and value where a word is NAME=value, else None."""
    match = _ASSIGN.match(word.text)
    if not match:
        return None
    return match[0].rstrip("+="), word.text[match.end() :]


def commands(text: str, start: int = 0, end: int | None = None) -> list[Command]:
    """Commands of a stretch of shell text."""
    return Lexer(text, start, len(text) if end is None else end).run()
