"""HTTP to a code host: retries with patience, pages, no redirect to strangers, and no token in any message."""

from __future__ import annotations

import email.utils
import ipaddress
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec

from porter.errors import ConfigError, ToolError

TRIES = 5
PAGES = 100  # of a hundred entries each
WAIT = 120.0  # seconds spent waiting in all
SECONDS = 30.0  # for one answer
REDIRECTS = frozenset({301, 302, 307, 308})
BROKEN = frozenset({500, 502, 503, 504})
LIMITED = re.compile(r"rate limit|abuse detection|retry later", re.IGNORECASE)
NEXT = re.compile(r'<([^<>]{1,2000})>\s*;[^,<>]*\brel="?next"?')


class Refused(ToolError):
    """The service understood the request and said no; ``status`` is its HTTP status, ``is_limit`` says that it is only too early."""

    def __init__(self, status: int, what: str, is_limit: bool = False) -> None:
        super().__init__(what)
        self.status = status
        self.is_limit = is_limit


class Client:
    """Talks JSON with one host. ``sleep`` waits seconds, ``clock`` gives the time in seconds since 1970."""

    def __init__(self, base: str, headers: dict[str, str], secret: str, sleep: Callable[[float], None], clock: Callable[[], float]) -> None:
        """``base`` is the address of the API; raises ConfigError for one to which a token must not be sent."""
        self.base = check_address(base)
        self.secret = secret
        self.sleep = sleep
        self.clock = clock
        self.left = WAIT
        is_tls = self.base.startswith("https:")  # this machine is spoken to without, and then certificates need not be loaded
        self.http = httpx.Client(headers=headers, timeout=SECONDS, follow_redirects=False, verify=is_tls)

    def close(self) -> None:
        """Close the connections."""
        self.http.close()

    def get(self, path: str) -> Any:
        """The JSON that an address holds."""
        return self._json(self._send("GET", self.base + path, None), "GET")

    def text(self, path: str, *names: str) -> str:
        """One text out of the JSON that an address holds, by the names on the way to it; raises ToolError where it is not there."""
        found = self.get(path)
        for name in names:
            found = found.get(name) if isinstance(found, dict) else None
        if not isinstance(found, str):
            raise ToolError(f"{self._host}: the answer has no {'.'.join(names)}", "is --api-url the address of the API?")
        return found

    def send(self, method: str, path: str, content: dict[str, Any] | None = None) -> Any:
        """Write, and the JSON of the answer, None for an empty one."""
        return self._json(self._send(method, self.base + path, content), method)

    def pages(self, path: str) -> Iterator[dict[str, Any]]:
        """The entries of all pages of a list, by the Link header."""
        url = self.base + path + ("&" if "?" in path else "?") + "per_page=100"
        for _ in range(PAGES):
            answer = self._send("GET", url, None)
            entries = self._json(answer, "GET")
            if not isinstance(entries, list):
                raise ToolError(f"{self._host}: gave no list where one was asked for", "is --api-url the address of the API?")
            yield from (entry for entry in entries if isinstance(entry, dict))
            found = NEXT.search(answer.headers.get("link", ""))
            if found is None:
                return
            url = self._near(found[1])
        raise ToolError(f"{self._host}: a list has more than {PAGES} pages")

    def _send(self, method: str, url: str, content: dict[str, Any] | None) -> httpx.Response:
        for turn in range(TRIES):
            last = turn == TRIES - 1
            try:
                answer = self._follow(method, url, content)
            except httpx.TransportError as error:
                if last or not self._wait(2.0**turn):
                    raise ToolError(f"{self._host}: cannot be reached: {self._safe(str(error) or type(error).__name__)}") from None
                continue
            except httpx.HTTPError as error:
                raise ToolError(f"{self._host}: {self._safe(str(error))}") from None
            pause = self._pause(answer, turn)
            if pause is None or last or not self._wait(pause):
                return self._checked(answer, method)
        raise ToolError(f"{self._host}: gave no answer")

    def _follow(self, method: str, url: str, content: dict[str, Any] | None) -> httpx.Response:
        """One request; a renamed project answers with a redirect, which is followed on the same host only."""
        for _ in range(4):
            answer = self.http.request(method, url, json=content)
            if answer.status_code not in REDIRECTS or "location" not in answer.headers:
                return answer
            url = self._near(str(answer.url.join(answer.headers["location"])))
        raise ToolError(f"{self._host}: redirects in a circle")

    def _near(self, url: str) -> str:
        """The address, if it is of the same host: the token goes nowhere else."""
        if urlsplit(url)[:2] != urlsplit(self.base)[:2]:
            raise ToolError(f"{self._host}: points to another host, which porter does not follow")
        return url

    def _pause(self, answer: httpx.Response, turn: int) -> float | None:
        """Seconds to wait before the next try; None where the answer is final."""
        if answer.status_code in BROKEN:
            return self._asked(answer) or 2.0**turn
        if answer.status_code == 429:
            return self._asked(answer) or self._reset(answer) or 2.0 ** (turn + 2)
        if answer.status_code == 403:
            asked = self._asked(answer) or self._reset(answer)
            return asked or (2.0 ** (turn + 2) if LIMITED.search(answer.text[:2000]) else None)
        return None

    def _asked(self, answer: httpx.Response) -> float:
        """Seconds that Retry-After asks for, a number or a date; 0 for none."""
        text = answer.headers.get("retry-after", "")
        if text.isdigit():
            return max(1.0, float(text[:9]))
        try:
            return max(1.0, email.utils.parsedate_to_datetime(text).timestamp() - self.clock()) if text else 0.0
        except (ValueError, TypeError, OverflowError):
            return 0.0

    def _reset(self, answer: httpx.Response) -> float:
        """Seconds until a used-up limit begins anew, by GitHub's or GitLab's headers; 0 where none is used up."""
        for left, reset in (("x-ratelimit-remaining", "x-ratelimit-reset"), ("ratelimit-remaining", "ratelimit-reset")):
            when = answer.headers.get(reset, "")
            if answer.headers.get(left) == "0" and when.isdigit():
                return max(1.0, float(when[:12]) - self.clock() + 1.0)
        return 0.0

    def _wait(self, seconds: float) -> bool:
        """Wait, if patience lasts that long."""
        if seconds > self.left:
            return False
        self.left -= seconds
        self.sleep(seconds)
        return True

    def _checked(self, answer: httpx.Response, method: str) -> httpx.Response:
        if answer.is_success:
            return answer
        is_limit = answer.status_code in (403, 429) and self._pause(answer, 0) is not None
        what = f"{self._host}: {method} was refused: {answer.status_code} {self._safe(_words(answer))}"
        raise Refused(answer.status_code, what.rstrip(), is_limit)

    def _json(self, answer: httpx.Response, method: str) -> Any:
        if not answer.content:
            return None
        try:
            return msgspec.json.decode(answer.content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise ToolError(f"{self._host}: {method} gave no JSON", "is --api-url the address of the API?") from None

    @property
    def _host(self) -> str:
        return urlsplit(self.base).hostname or self.base

    def _safe(self, words: str) -> str:
        """The words without the token, whatever echoed it, and without passwords in addresses."""
        hidden = words.replace(self.secret, "***") if self.secret else words
        return re.sub(r"://[^/@\s]{1,300}@", "://***@", hidden)[:300]


def _words(answer: httpx.Response) -> str:
    """What a refusal says, with the details that GitHub gives for a field."""
    try:
        read = msgspec.json.decode(answer.content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return " ".join(answer.text[:200].split()) if "html" not in answer.headers.get("content-type", "") else ""
    if not isinstance(read, dict):
        return ""
    parts = [str(read.get("message") or read.get("error") or "")]
    errors = read.get("errors")
    for error in errors if isinstance(errors, list) else ():
        parts.append(str(error.get("message", "")) if isinstance(error, dict) else str(error))
    return ". ".join(part for part in parts if part)


def check_address(url: str) -> str:
    """An API's address without a slash at the end; raises ConfigError for one without TLS, unless it is this machine."""
    parts = urlsplit(url.strip())
    host = parts.hostname or ""
    if parts.username or parts.password:
        raise ConfigError("the API's address must not hold a user or a password", "the token comes from the environment")
    if parts.scheme not in ("https", "http") or not host or parts.query or parts.fragment:
        raise ConfigError(f"'{url[:100]}' is not the address of an API", "for example --api-url https://ghe.example.com/api/v3")
    if parts.scheme == "http" and not _is_here(host):
        raise ConfigError(f"{host}: a token is not sent without TLS", "use https")
    return url.strip().rstrip("/")


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
