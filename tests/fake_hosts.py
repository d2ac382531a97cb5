"""GitHub and GitLab on this machine, as far as a comment goes, with the rules that the real ones enforce.

Sources of the rules: GitHub's REST documentation (issue comments, review comments, pagination, rate limits), the texts of its
errors as issue threads quote them ("Body is too long (maximum is 65536 characters)", "Resource not accessible by integration");
GitLab's REST documentation (notes, discussions, diffs, rate limits).
"""

from __future__ import annotations

import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from porter.comment import patch

TOKEN = "ghs_S3cretS3cretS3cretS3cret"
HEAD = "c" * 40


class Host:
    """The state of one server; tests look at it and set traps in it."""

    def __init__(self):
        self.lock = threading.RLock()
        self.comments = {}  # id -> {"body", "user", "type"}
        self.reviews = []
        self.next_id = 1
        self.login, self.kind = "github-actions[bot]", "Bot"
        self.personal = False  # GET /user answers
        self.writes = True  # the token may write
        self.locked = False
        self.traps = []  # (status, headers, body) answered before anything else
        self.patches = {}  # path -> patch
        self.calls = []  # (method, path)
        self.commands = []  # quick actions that GitLab ran
        self.after_list = None  # called between reading the comments and giving them
        self.url = ""

    def add(self, body, user=None, kind=None):
        with self.lock:
            number = self.next_id
            self.next_id += 1
            self.comments[number] = {"body": body, "user": user or self.login, "type": kind or self.kind}
            return number

    @property
    def bodies(self):
        return [one["body"] for _, one in sorted(self.comments.items())]

    def count(self, method):
        return sum(1 for known, _ in self.calls if known == method)


class Answer(Exception):
    def __init__(self, status, content=None, headers=None):
        super().__init__(status)
        self.status, self.content, self.headers = status, content, headers or {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 20  # head and body in one packet: two would wait for each other
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def handle_one(self, method):
        host = self.server.state
        size = int(self.headers.get("Content-Length") or 0)
        content = json.loads(self.rfile.read(size)) if size else {}
        try:
            with host.lock:
                host.calls.append((method, self.path))
                if host.traps:
                    status, headers, trap = host.traps.pop(0)
                    raise Answer(status, trap, headers)
            answer = self.server.api(host, self, method, urlsplit(self.path), content)
        except Answer as found:
            answer = found
        body = (
            b""
            if answer.content is None
            else answer.content.encode()
            if isinstance(answer.content, str)
            else json.dumps(answer.content).encode()
        )
        self.send_response(answer.status)
        for name, value in {"Content-Type": "application/json; charset=utf-8", **answer.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = lambda self: self.handle_one("GET")  # noqa: E731
    do_POST = lambda self: self.handle_one("POST")  # noqa: E731
    do_PATCH = lambda self: self.handle_one("PATCH")  # noqa: E731
    do_PUT = lambda self: self.handle_one("PUT")  # noqa: E731
    do_DELETE = lambda self: self.handle_one("DELETE")  # noqa: E731


@contextmanager
def running(api):
    """A server of one of the two APIs below, and its state."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.state, server.api = Host(), api
    server.state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server.state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def paged(host, url, entries):
    query = parse_qs(url.query)
    size = min(int(query.get("per_page", ["30" if "/repos/" in url.path else "20"])[0]), 100)
    page = int(query.get("page", ["1"])[0])
    last = max(1, -(-len(entries) // size))
    links = []
    for rel, number in (("next", page + 1), ("last", last)):
        if number <= last and page < last:
            links.append(f'<{host.url}{url.path}?per_page={size}&page={number}>; rel="{rel}"')
    return Answer(200, entries[(page - 1) * size : page * size], {"Link": ", ".join(links)} if links else {})


def denied(words, status=403):
    return Answer(status, {"message": words, "documentation_url": "https://docs.github.com/rest"})


def invalid(resource, field, words):
    error = {"resource": resource, "code": "unprocessable", "field": field, "message": words}
    return Answer(422, {"message": "Validation Failed", "errors": [error]})


def github(host, request, method, url, content):
    """api.github.com for the repository o/n with the pull request 7."""
    if not request.headers.get("User-Agent"):
        return Answer(403, "Request forbidden by administrative rules", {"Content-Type": "text/plain"})
    if request.headers.get("Authorization") != f"Bearer {TOKEN}":
        return denied("Bad credentials", 401)
    if url.path == "/user":
        return Answer(200, {"login": host.login}) if host.personal else denied("Resource not accessible by integration")
    if not url.path.startswith("/repos/o/n/"):
        return denied("Not Found", 404)
    where = url.path.removeprefix("/repos/o/n/")
    if method != "GET" and not host.writes:
        return denied("Resource not accessible by integration")
    if where == "issues/7/comments":
        return _github_comments(host, method, url, content)
    if found := re.fullmatch(r"issues/comments/(\d+)", where):
        return _github_comment(host, method, int(found[1]), content)
    if where == "pulls/7":
        return Answer(200, {"number": 7, "head": {"sha": HEAD}})
    if where == "pulls/7/files":
        return paged(host, url, [{"filename": path, "status": "modified", "patch": text} for path, text in host.patches.items()])
    if where == "pulls/7/comments":
        return _github_reviews(host, method, url, content)
    return denied("Not Found", 404)


def _github_entry(host, number):
    one = host.comments[number]
    return {"id": number, "body": one["body"], "user": {"login": one["user"], "type": one["type"]}}


def _body(content, resource):
    body = content.get("body")
    if not isinstance(body, str) or not body.strip():
        raise invalid(resource, "data", "Body can't be blank")
    if len(body) > 65_536:
        raise invalid(resource, "data", "Body is too long (maximum is 65536 characters)")
    return body


def _github_comments(host, method, url, content):
    if method == "GET":
        with host.lock:
            entries = [_github_entry(host, number) for number in sorted(host.comments)]
        if host.after_list:
            host.after_list()
        return paged(host, url, entries)
    if host.locked:
        return denied("Unable to create comment because issue is locked.")
    number = host.add(_body(content, "IssueComment"))
    return Answer(201, _github_entry(host, number))


def _github_comment(host, method, number, content):
    with host.lock:
        if number not in host.comments:
            return denied("Not Found", 404)
        if method == "DELETE":
            del host.comments[number]
            return Answer(204)
        host.comments[number]["body"] = _body(content, "IssueComment")
        return Answer(200, _github_entry(host, number))


def _github_reviews(host, method, url, content):
    if method == "GET":
        return paged(host, url, [{"body": one["body"], "user": {"login": host.login, "type": host.kind}} for one in host.reviews])
    _body(content, "PullRequestReviewComment")
    if content.get("commit_id") != HEAD:
        return invalid("PullRequestReviewComment", "commit_id", "commit_id is not part of the pull request")
    if content.get("side") != "RIGHT" or content.get("line") not in patch.lines(host.patches.get(content.get("path"), "")):
        return invalid(
            "PullRequestReviewComment", "pull_request_review_thread.line", "pull_request_review_thread.line must be part of the diff"
        )
    host.reviews.append(content)
    return Answer(201, {"id": 1})


QUICK = re.compile(r"^/([a-z_]+)", re.MULTILINE)


def gitlab(host, request, method, url, content):
    """A GitLab server with the project group/tool (number 42) and the merge request 7."""
    if request.headers.get("PRIVATE-TOKEN") != TOKEN:
        return Answer(401, {"message": "401 Unauthorized"})
    path = url.path.removeprefix("/api/v4")
    if path == "/user":
        return Answer(200, {"id": 5, "username": host.login})
    found = re.fullmatch(r"/projects/([^/]+)/merge_requests/(\d+)(/.*)?", path)
    if found is None or unquote(found[1]) not in ("42", "group/tool"):
        return Answer(404, {"message": "404 Project Not Found"})
    if found[2] != "7":
        return Answer(404, {"message": "404 Not found"})
    if method != "GET" and not host.writes:
        return Answer(403, {"message": "403 Forbidden"})
    return _merge_request(host, method, url, (found[3] or "").strip("/"), content)


def _gitlab_entry(host, number):
    one = host.comments[number]
    return {"id": number, "body": one["body"], "system": one["type"] == "system", "author": {"id": 5 if one["user"] == host.login else 9}}


def _note(host, content):
    body = content.get("body")
    if not isinstance(body, str) or not body.strip():
        raise Answer(400, {"message": {"note": ["can't be blank"]}})
    if len(body) > 1_000_000:
        raise Answer(400, {"message": {"note": ["is too long (maximum is 1000000 characters)"]}})
    host.commands += QUICK.findall(body)
    return body


def _merge_request(host, method, url, where, content):
    if not where:
        return Answer(200, {"iid": 7, "diff_refs": {"base_sha": "a" * 40, "start_sha": "b" * 40, "head_sha": HEAD}})
    if where == "notes" and method == "GET":
        with host.lock:
            return paged(host, url, [_gitlab_entry(host, number) for number in sorted(host.comments)])
    if where == "notes":
        return Answer(201, _gitlab_entry(host, host.add(_note(host, content))))
    if where == "diffs":
        return paged(host, url, [{"new_path": path, "old_path": path, "diff": text} for path, text in host.patches.items()])
    if where == "discussions":
        return _discussion(host, content)
    number = int(where.removeprefix("notes/"))
    if number not in host.comments:
        return Answer(404, {"message": "404 Note Not Found"})
    if method == "DELETE":
        del host.comments[number]
        return Answer(204)
    host.comments[number]["body"] = _note(host, content)
    return Answer(200, _gitlab_entry(host, number))


def _discussion(host, content):
    place = content["position"]
    line = patch.lines(host.patches.get(place["new_path"], "")).get(place["new_line"])
    if line is None or line.old != place.get("old_line", 0) or place["head_sha"] != HEAD:
        return Answer(400, {"message": '400 Bad request - Note {:line_code=>["can\'t be blank", "must be a valid line code"]}'})
    host.reviews.append(content)
    host.add(_note(host, content))
    return Answer(201, {"id": "abc"})
