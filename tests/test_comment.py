"""The bot against a GitHub and a GitLab on this machine: one comment in its place, whatever the service or the repository does."""

from __future__ import annotations

import json
import re
import threading
from html.parser import HTMLParser
from pathlib import Path

import fake_hosts
import msgspec
import pytest
from click.testing import CliRunner, Result
from fake_hosts import TOKEN, Host
from markdown_it import MarkdownIt
from report_factory import HOSTILE_PATH, finding, make_report, rules

from porter import cli_comment
from porter.cli import main
from porter.comment import actions, choose, github, patch, sticky, text, wire
from porter.comment.values import Marker, Place, marker_of
from porter.errors import ConfigError
from porter.model import Baseline, Finding, Fix, Hours, Quantiles, Report, Scope, Severity
from porter.render import json as json_report

BASE = Baseline("main", "b" * 40, 0, 0, 0, Quantiles(30, 41, 60, 80), Quantiles(31, 44, 64, 86), 3.5)
CI = (
    "GITHUB_",
    "GITLAB_",
    "CI_",
    "GH_TOKEN",
    "PORTER_",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
)


def row(number: int, rule: str = "nvshmem", **more: object) -> Finding:
    values = {"fingerprint": f"{number:08x}", "effort_hours": Hours(0.5, number + 1.0, number + 9.0), "state": "new"} | more
    return finding(rules()[rule], f"csrc/k{number}.cu", number + 1, f"nvshmem_init(/* {number} */);", f"calls nvshmem_{number}", **values)


def report(new: int = 2, fixed: int | tuple[Finding, ...] = 1, **more: object) -> Report:
    values: dict[str, object] = {
        "findings": (*(row(i) for i in range(new)), row(90, state="unchanged")),
        "fixed": tuple(row(50 + i) for i in range(fixed)) if isinstance(fixed, int) else fixed,
        "baseline": BASE,
        "problems": (),
    }
    return make_report(**values | more)


@pytest.fixture(autouse=True)
def quiet_machine(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """No CI, no proxy and no waiting; the seconds that would have been waited."""
    import os

    for name in [name for name in os.environ if name.startswith(CI)]:
        monkeypatch.delenv(name)
    waited: list[float] = []
    monkeypatch.setattr(cli_comment.time, "sleep", waited.append)
    return waited


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch):
    with fake_hosts.running(fake_hosts.github) as host:
        monkeypatch.setenv("GITHUB_API_URL", host.url)
        monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
        yield host


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch):
    with fake_hosts.running(fake_hosts.gitlab) as host:
        monkeypatch.setenv("CI_API_V4_URL", host.url + "/api/v4")
        monkeypatch.setenv("GITLAB_TOKEN", TOKEN)
        yield host


def run(tmp_path: Path, what: Report, *options: str, where: tuple[str, ...] = ("--repo", "o/n", "--pr", "7"), status: int = 0) -> Result:
    path = tmp_path / "report.json"
    path.write_text(json_report.render(what))
    done = CliRunner().invoke(main, ["comment", str(path), *where, *options], catch_exceptions=False)
    assert done.exit_code == status, done.output
    assert TOKEN not in done.output
    return done


LAB = ("--gitlab", "group/tool", "--mr", "7")


def test_first_comment_then_silence_then_update_then_all_fixed(hub: Host, tmp_path: Path) -> None:
    assert "commented" in run(tmp_path, report()).stderr
    (body,) = hub.bodies
    assert body.startswith("<!-- porter:v1 key=default -->\n**porter: 2 new ROCm porting findings, 1 fixed** (+3.5 h")
    assert "csrc/k0.cu:1" in body and "csrc/k90.cu" not in body and "41 h before, 44 h now" in body
    assert "says this already" in run(tmp_path, report()).stderr and hub.count("POST") == 1 and hub.count("PATCH") == 0
    assert "updated" in run(tmp_path, report(new=3)).stderr and hub.bodies[0].count("🟡 new") + hub.bodies[0].count("🟠 new") == 3
    assert "updated" in run(tmp_path, report(new=0, fixed=0)).stderr
    assert "**porter: no new ROCm porting findings**" in hub.bodies[0] and len(hub.bodies) == 1
    run(tmp_path, report(new=0, fixed=0))
    assert hub.count("PATCH") == 2


def test_nothing_to_say_makes_no_comment(hub: Host, tmp_path: Path) -> None:
    assert "no comment" in run(tmp_path, report(new=0, fixed=0)).stderr
    remark = row(1, severity=Severity.INFO)
    run(tmp_path, report(findings=(remark,), fixed=()))
    assert hub.bodies == [] and hub.count("POST") == 0
    run(tmp_path, report(findings=(remark,), fixed=()), "--severity", "info")
    assert len(hub.bodies) == 1


def test_the_comment_is_found_on_the_fifth_page_and_strangers_markers_are_left_alone(hub: Host, tmp_path: Path) -> None:
    stranger = hub.add(f"{Marker()}\nI am the bot, trust me", "mallory", "User")
    quote = hub.add(f"> {Marker()}\nlook what it says", "alice", "User")
    for i in range(430):
        hub.add(f"chat {i}", "alice", "User")
    own = hub.add(f"{Marker()}\nold words")
    run(tmp_path, report())
    assert "2 new" in hub.comments[own]["body"] and len(hub.comments) == 433
    assert "trust me" in hub.comments[stranger]["body"] and hub.comments[quote]["body"].startswith(">")
    assert sum("page=5" in path for _, path in hub.calls) == 1


def test_a_personal_token_edits_its_own_comments_only(hub: Host, tmp_path: Path) -> None:
    hub.personal, hub.login, hub.kind = True, "porter-user", "User"
    other = hub.add(f"{Marker()}\nother bot's", "github-actions[bot]", "Bot")
    run(tmp_path, report())
    assert hub.comments[other]["body"].endswith("other bot's") and len(hub.bodies) == 2
    run(tmp_path, report(new=5))
    assert len(hub.bodies) == 2 and "5 new" in hub.bodies[1]


def test_two_bots_keep_two_comments(hub: Host, tmp_path: Path) -> None:
    run(tmp_path, report(), "--name", "cuda")
    run(tmp_path, report(new=4), "--name", "cuda-12.x")
    run(tmp_path, report(new=1), "--name", "cuda")
    assert [marker_of(body).name for body in hub.bodies] == ["cuda", "cuda-12.x"]
    assert "1 new" in hub.bodies[0] and "4 new" in hub.bodies[1]
    for name in ("", "a b", "a--b", "-->", "x" * 61):
        run(tmp_path, report(), "--name", name, status=2)


def test_a_fork_gets_the_summary_and_no_failure(hub: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.writes = False
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    done = run(tmp_path, report())
    assert done.stderr.count("\n") == 1 and "fork" in done.stderr and "step summary has the findings" in done.stderr
    assert "2 new ROCm porting findings" in summary.read_text() and hub.bodies == []
    monkeypatch.delenv("GITHUB_TOKEN")
    assert "no token" in run(tmp_path, report()).stderr and summary.read_text().count("porter: 2 new") == 2


def test_a_locked_conversation_is_told_and_no_failure(hub: Host, tmp_path: Path) -> None:
    hub.locked = True
    assert "may not comment" in run(tmp_path, report()).stderr


def test_an_oversize_comment_is_cut_in_order_and_keeps_its_marker(hub: Host, tmp_path: Path) -> None:
    long = "&<>|@`" * 60
    known = {f"rule-{i}": msgspec.structs.replace(rules()["nvshmem"], id=f"rule-{i}", title=long[:90], why="@" * 9000) for i in range(40)}
    found = tuple(finding(known[f"rule-{i}"], f"{'<' * 200}/{i}.cu", i + 1, long, long, fingerprint=f"{i:x}") for i in range(40))
    run(tmp_path, report(findings=found, rules=known))
    (body,) = hub.bodies
    assert len(body.encode()) < 60_000 and marker_of(body) == Marker() and "cut to its limit" in body
    assert body.count("\n| ") == 12 and body.count("<details>") == body.count("</details>")
    run(tmp_path, report(findings=found, rules=known))
    assert hub.count("PATCH") == 0


@pytest.mark.parametrize("limit", [300, 700, 1500, 4000, 20_000, 60_000])
def test_every_limit_is_kept_with_the_marker(limit: int) -> None:
    known = {name: msgspec.structs.replace(rule, title="漢" * 80, why="漢字 " * 300) for name, rule in rules().items()}
    what = report(findings=tuple(row(i, list(known)[i % 4]) for i in range(16)), fixed=12, rules=known)
    body = text.comment(what, choose.choose(what), Marker("a", 5), Place("https://x", "c"), "https://e.com/", limit)
    assert len(body.encode()) <= limit and marker_of(body) == Marker("a", 5)


def test_ten_rows_and_the_rest_in_a_sentence() -> None:
    what = report(findings=tuple(row(i, f"{['nvshmem', 'ptx-cp-async'][i % 2]}") for i in range(9)), fixed=5)
    chosen = choose.choose(what)
    assert len(chosen.rows) == 10 and [r.fixed for r in chosen.rows] == [False] * 7 + [True] * 3 and chosen.more_new == 2
    many = report(new=40, fixed=0)
    body = text.comment(many, choose.choose(many), Marker(), Place())
    assert body.count("\n| 🟠") == 1 and "and 37 more" in body  # one rule, one row
    assert "2 more new" in text.comment(what, chosen, Marker(), Place()) and "2 more fixed" in text.comment(what, chosen, Marker(), Place())


def test_the_most_severe_comes_first_then_what_costs_most() -> None:
    """A minor finding that takes days stood above a major one that takes an hour."""
    cheap = row(1, "ballot-32-bit-mask", effort_hours=Hours(0.1, 0.2, 0.3), severity=Severity.BLOCKER)
    long = row(30, "ptx-cp-async", severity=Severity.MINOR)
    chosen = choose.choose(report(findings=(long, row(2), row(8), cheap), fixed=()))
    assert [r.first.line for r in chosen.rows] == [2, 9, 3, 31]


def barrier_of(host: Host, count: int) -> None:
    """The first lists of so many runs wait for each other, so that all of them see no comment."""
    gate, lock, left = threading.Barrier(count), threading.Lock(), [count]

    def wait() -> None:
        with lock:
            left[0] -= 1
            mine = left[0] >= 0
        if mine:
            gate.wait(5)

    host.after_list = wait


def test_concurrent_runs_leave_one_comment_with_the_newest_words(hub: Host) -> None:
    barrier_of(hub, 4)

    def go(number: int) -> None:
        client = wire.Client(hub.url, github.headers(TOKEN), TOKEN, lambda _: None, lambda: 0.0)
        marker = Marker("default", number)
        sticky.place(github.GitHub(client, "o/n", 7), marker, f"{marker}\nrun {number}\n", True)
        client.close()

    threads = [threading.Thread(target=go, args=(number,)) for number in (11, 14, 12, 13)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    hub.after_list = None
    assert hub.count("POST") == 4
    client = wire.Client(hub.url, github.headers(TOKEN), TOKEN, lambda _: None, lambda: 0.0)
    assert sticky.place(github.GitHub(client, "o/n", 7), Marker("default", 13), "run 13", True) == "stale"
    client.close()
    assert len(hub.bodies) == 1 and "run 14" in hub.bodies[0]


def test_an_older_run_does_not_overwrite_a_newer_one(hub: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_RUN_ID", "20")
    run(tmp_path, report(new=3))
    monkeypatch.setenv("GITHUB_RUN_ID", "19")
    assert "newer run" in run(tmp_path, report(new=1)).stderr and "3 new" in hub.bodies[0]
    monkeypatch.setenv("GITHUB_RUN_ID", "21")
    run(tmp_path, report(new=1))
    assert "1 new" in hub.bodies[0] and "run=21" in hub.bodies[0]


def test_doubles_of_an_earlier_accident_are_cleaned_up(hub: Host, tmp_path: Path) -> None:
    for _ in range(3):
        hub.add(f"{Marker()}\nold")
    run(tmp_path, report())
    assert list(hub.comments) == [3] and "2 new" in hub.bodies[0]


SECONDARY = (403, {"Retry-After": "7"}, {"message": "You have exceeded a secondary rate limit. Please wait a few minutes."})


@pytest.mark.parametrize(
    ("traps", "waits"),
    [
        ([SECONDARY], [7.0]),
        ([(403, {}, {"message": "You have exceeded a secondary rate limit and have been temporarily blocked"})] * 2, [4.0, 8.0]),
        ([(429, {"Retry-After": "3"}, "Retry later")], [3.0]),
        ([(502, {}, "<html>"), (503, {}, None), (500, {}, "x")], [1.0, 2.0, 4.0]),
        ([(403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1030"}, {"message": "API rate limit exceeded"})], [31.0]),
    ],
)
def test_limits_and_outages_are_waited_for(
    hub: Host, tmp_path: Path, quiet_machine: list[float], monkeypatch: pytest.MonkeyPatch, traps: list[tuple], waits: list[float]
) -> None:
    monkeypatch.setattr(cli_comment.time, "time", lambda: 1000.0)
    hub.traps = list(traps)
    assert "commented" in run(tmp_path, report()).stderr
    assert quiet_machine == waits and len(hub.bodies) == 1


@pytest.mark.parametrize(
    ("trap", "words"),
    [
        ((403, {"Retry-After": "3600"}, {"message": "secondary rate limit"}), "limit of requests is used up"),
        ((429, {"Retry-After": "Wed, 02 Dec 2099 00:00:00 GMT"}, "Retry later"), "limit of requests is used up"),
        ((401, {}, {"message": f"Bad credentials {TOKEN}"}), "token is wrong"),
        ((404, {}, {"message": "Not Found"}), "there is no pull request 7 in o/n"),
        ((422, {}, {"message": "Validation Failed", "errors": [{"message": "Body is too long"}]}), "Body is too long"),
        ((301, {"Location": "http://evil.example/take"}, None), "another host"),
        ((200, {"Link": '<http://evil.example/2>; rel="next"'}, []), "another host"),
        ((200, {}, "<html>sign in</html>"), "no JSON"),
        ((200, {}, {"message": "not a list"}), "no list"),
    ],
)
def test_a_refusal_is_one_line_without_the_token(hub: Host, tmp_path: Path, trap: tuple, words: str) -> None:
    hub.traps = [trap]
    done = run(tmp_path, report(), status=2)
    assert words in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_a_renamed_repository_is_followed_on_the_same_host(hub: Host, tmp_path: Path) -> None:
    hub.traps = [(301, {"Location": "/repos/o/n/issues/7/comments?per_page=100"}, None)]
    run(tmp_path, report())
    assert len(hub.bodies) == 1


def test_a_host_that_is_not_there_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    done = run(tmp_path, report(), "--api-url", "http://127.0.0.1:9", status=2)
    assert "cannot be reached" in done.stderr and done.stderr.count("\n") == 1


def test_a_proxy_is_used(hub: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", hub.url)
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("GITHUB_API_URL", "http://localhost:1")
    run(tmp_path, report())
    assert hub.calls[0] == ("GET", "http://localhost:1/repos/o/n/issues/7/comments?per_page=100")


@pytest.mark.parametrize("url", ["http://ghe.example.com/api/v3", "ftp://x", "https://me:pw@ghe.example.com", "x", "https://a/?b=c"])
def test_addresses_that_get_no_token(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    assert "pw" not in run(tmp_path, report(), "--api-url", url, status=2).stderr
    assert wire.check_address("https://ghe.example.com/api/v3/") == "https://ghe.example.com/api/v3"


def test_where_the_pull_request_comes_from(hub: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path, report(), where=(), status=2)
    monkeypatch.setenv("GITHUB_REPOSITORY", "o/n")
    monkeypatch.setenv("GITHUB_REF", "refs/pull/7/merge")
    run(tmp_path, report(), where=())
    assert len(hub.bodies) == 1
    run(tmp_path, report(), where=("--repo", "o/n", "--gitlab", "g/p", "--pr", "7"), status=2)
    for name in ("o", "o/n/x", "../n", "o/n?x"):
        run(tmp_path, report(), where=("--repo", name, "--pr", "7"), status=2)
    monkeypatch.setenv("GITHUB_TOKEN", "two\nlines")
    assert "token holds" in run(tmp_path, report(), where=(), status=2).stderr


def test_links_go_to_the_commit_of_the_report(hub: Host, tmp_path: Path) -> None:
    odd = finding(rules()["nvshmem"], "a b/ü(1)#x.cu", 3, "x", "y", fingerprint="1")
    run(tmp_path, report(findings=(odd,)))
    assert f"]({hub.url}/o/n/blob/{report().commit}/a%20b/%C3%BC%281%29%23x.cu#L3)" in hub.bodies[0]
    assert Place("https://gitlab.com/g/p", "c" * 40, True).link("a.cu", 3) == f"https://gitlab.com/g/p/-/blob/{'c' * 40}/a.cu#L3"


def test_paths_of_a_scanned_folder_start_at_the_repositorys_root(hub: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    hub.patches = {"sub/dir/k.cu": PATCH}
    done = run(tmp_path, report(findings=(fixable(),)), "--prefix", "./sub//dir/")
    assert "/sub/dir/k.cu#L2)" in hub.bodies[0] and "`sub/dir/csrc/k50.cu" in hub.bodies[0]
    assert "file=sub/dir/k.cu," in done.stdout and hub.reviews[0]["path"] == "sub/dir/k.cu"
    for wrong in ("/abs", "../up", "a/../.."):
        run(tmp_path, report(), "--prefix", wrong, status=2)


def test_a_report_without_baseline_is_refused_and_before_helps(hub: Host, tmp_path: Path) -> None:
    assert "compared with nothing" in run(tmp_path, report(baseline=None), status=2).stderr
    before = tmp_path / "before.json"
    before.write_text(json_report.render(report(new=1, baseline=None)))
    run(tmp_path, report(new=3, baseline=None), "--before", str(before))
    assert "2 new" in hub.bodies[0] and "before.json" in hub.bodies[0]
    assert "already" in run(tmp_path, report(), "--before", str(before), status=2).stderr
    part = report(baseline=None, scope=Scope("main", "c" * 40, 1, 9))
    assert "changed files alone" in run(tmp_path, part, "--before", str(before), status=2).stderr
    before.write_text(json_report.render(part))
    assert "changed files alone" in run(tmp_path, report(baseline=None), "--before", str(before), status=2).stderr


def test_dry_run_prints_and_asks_nobody(hub: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run(tmp_path, report(), "--dry-run", where=())
    assert done.stdout.startswith("<!-- porter:v1") and hub.calls == [] and done.stderr == ""
    assert "none would be made" in run(tmp_path, report(0, 0), "--dry-run").stderr
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    lines = run(tmp_path, report(), "--dry-run").stdout.splitlines()
    assert re.fullmatch(r"::stop-commands::[0-9a-f]{64}", lines[0]) and lines[-1] == "::" + lines[0].rsplit(":", 1)[-1] + "::"


SAFE = Fix("  float sum = 0.0f;", True)
PATCH = "@@ -1,3 +1,3 @@\n void k() {\n-  float x;\n+  register float sum = 0.0f;\n }\n"


def fixable(fix: Fix = SAFE, line: int = 2, mark: str = "aa") -> Finding:
    return finding(rules()["ptx-cp-async"], "k.cu", line, "  register float sum = 0.0f;", "the word", fingerprint=mark, fix=fix)


def test_safe_fixes_become_one_click_suggestions_once(hub: Host, tmp_path: Path) -> None:
    hub.patches = {f"other{i}.cu": "" for i in range(120)} | {"k.cu": PATCH}
    unsafe = fixable(msgspec.structs.replace(SAFE, safe=False), mark="bb")
    what = report(findings=(fixable(), unsafe, fixable(line=40, mark="cc"), fixable(line=3, mark="dd")))
    assert "with 1 suggestion" in run(tmp_path, what).stderr
    (one,) = hub.reviews
    assert (one["path"], one["line"], one["side"]) == ("k.cu", 2, "RIGHT")
    assert "```suggestion\n  float sum = 0.0f;\n```" in one["body"] and "fix=aa" in one["body"]
    run(tmp_path, what)
    run(tmp_path, what, "--no-suggest")
    assert len(hub.reviews) == 1 and len(hub.bodies) == 1 and not any("/reviews" in path for _, path in hub.calls)
    assert "| safe one-line fix |" in hub.bodies[0] and "suggestion" not in hub.bodies[0]  # two of the three get none


def test_suggestions_that_could_harm_are_not_made(hub: Host, tmp_path: Path) -> None:
    hub.patches = {"k.cu": PATCH}
    for mark, words in (("a1", "a\u202eb"), ("a2", "/close"), ("a3", "x\ny"), ("a4", "\x1b[2J"), ("a5 -->", "x")):
        run(tmp_path, report(findings=(fixable(Fix(words, True), mark=mark),)))
    assert hub.reviews == []
    run(tmp_path, report(findings=(fixable(Fix("``` ````suggestion", True)),)))
    assert "`````suggestion\n``` ````suggestion\n`````" in hub.reviews[0]["body"]


def test_what_hinders_suggestions_is_told_and_the_comment_stands(hub: Host, tmp_path: Path) -> None:
    hub.patches = {"k.cu": PATCH}
    what = report(findings=(fixable(),))
    run(tmp_path, what, "--no-suggest")
    for trap, said in (((403, {}, {"message": "no"}), "403 no"), ((200, {}, {"x": 1}), "no list"), ((200, {}, [None, 3, {}]), "")):
        there = [{"id": 1, "body": hub.bodies[0], "user": {"login": "x", "type": "Bot"}}]
        hub.traps = [(200, {}, there), (403, {}, {"message": "a workflow's token is nobody"}), trap]
        assert said in run(tmp_path, what).stderr and len(hub.bodies) == 1


def test_lines_of_a_patch() -> None:
    shown = patch.lines("@@ -3,3 +3,4 @@ void f()\n a\n-b\n+c\n+d\n e\n\\ No newline at end of file\n@@ -20 +21 @@\n-x\n+y")
    assert {number: (line.text, line.old) for number, line in shown.items()} == {
        3: ("a", 3), 4: ("c", 0), 5: ("d", 0), 6: ("e", 5), 21: ("y", 0),
    }  # fmt: skip
    assert patch.lines("@@ -1 +1 @@\n-a\n+b\r\n")[1].text == "b\r"
    assert patch.lines("") == {} and patch.lines("+no hunk") == {}


def test_annotations_keep_to_ten_of_a_kind_and_obey_nothing(tmp_path: Path, hub: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    evil = finding(rules()["nvshmem"], "a,b:c%\n.cu", 1, "x", "100 %\n::error::owned\r", fingerprint="e", effort_hours=Hours(9, 99, 999))
    lines = run(tmp_path, report(findings=(evil, *(row(i) for i in range(25))))).stdout.splitlines()
    assert len(lines) == 10 and all(line.startswith("::warning file=") for line in lines)
    assert lines[0].startswith("::warning file=a%2Cb%3Ac%25 ⏎ .cu,line=1,endLine=1,title=porter%3A nvshmem::") and "100 %25" in lines[0]
    assert run(tmp_path, report(), "--no-annotations").stdout == ""


def test_the_summary_keeps_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "summary"
    path.write_bytes(b"x" * (actions.SUMMARY_LIMIT - 10))
    assert actions.add_summary(path, "123456789") and not actions.add_summary(path, "1")
    assert path.stat().st_size == actions.SUMMARY_LIMIT


class Page(HTMLParser):
    """A Markdown text as GitHub would show it: its tags, its links, and its text outside of code."""

    def __init__(self, body: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.text, self.in_code = "", 0
        self.feed(MarkdownIt("commonmark", {"html": True}).enable("table").render(body))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.in_code += tag in ("code", "pre")
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_endtag(self, tag: str) -> None:
        self.in_code -= tag in ("code", "pre")

    def handle_data(self, data: str) -> None:
        self.text += "" if self.in_code else data


HOSTILE = "@octocat #12 GH-3 !4 [x](http://evil.example) <b>|`</details>\x1b[2J\u202e www.evil.example $x$ %5 ~bug &7 ^x"


def test_hostile_words_stay_words(hub: Host, tmp_path: Path) -> None:
    rule = msgspec.structs.replace(rules()["nvshmem"], title=HOSTILE[:90], why=HOSTILE)
    evil = finding(rule, HOSTILE_PATH, 1, f"```\n/close\n::error::x\n</details>{HOSTILE}", HOSTILE, fingerprint="1")
    what = report(findings=(evil,), fixed=(evil,), rules={rule.id: rule}, targets=("gfx942",))
    run(tmp_path, what, "--report-url", "https://e.com/a)b")
    (body,) = hub.bodies
    assert not set(body) & set("\x1b\u202e\x00") and not re.search(r"^(?:/|::)", body, re.MULTILINE)
    assert "https://e.com/a%29b" in body
    page = Page(body)
    assert page.tags == {
        "p",
        "strong",
        "a",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "code",
        "pre",
        "h4",
        "ul",
        "li",
        "details",
        "summary",
        "sub",
    }
    assert {link.split("/")[2] for link in page.links} == {"e.com", hub.url.split("/")[2], "rocm.docs.amd.com"}
    assert not re.search(r"[@!$%&~^#](?:octocat|\d|x\b|bug)|GH-\d|www\.e|://", re.sub(r"https://rocm\S+", "", page.text)), page.text
    assert "@\u200boctocat #\u200b12 GH-\u200b3" in page.text and "<b>|`</details>" in page.text
    for url in ("javascript:alert(1)", "https://a b", "https://a\nb", "data:x"):
        run(tmp_path, what, "--report-url", url, status=2)


def test_gitlab_first_update_unchanged_fixed_and_two_bots(lab: Host, tmp_path: Path) -> None:
    for i in range(130):
        lab.add(f"chat {i}", "alice", "system" if i % 3 else "User")
    stranger = lab.add(f"{Marker()}\ntrust me", "mallory", "User")
    run(tmp_path, report(), where=LAB)
    run(tmp_path, report(), where=LAB)
    assert len(lab.comments) == 132 and lab.count("POST") == 1 and lab.count("PUT") == 0
    run(tmp_path, report(new=0, fixed=3), where=("--gitlab", "42", "--mr", "7"))
    assert "no new ROCm porting findings, 3 fixed" in lab.bodies[-1] and lab.count("PUT") == 1
    run(tmp_path, report(), "--name", "other", where=LAB)
    assert len(lab.comments) == 133 and "trust me" in lab.comments[stranger]["body"]


def test_gitlab_refusals(lab: Host, tmp_path: Path, quiet_machine: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    lab.traps = [(429, {"Retry-After": "5", "Content-Type": "text/plain"}, "Retry later\n")]
    run(tmp_path, report(), where=LAB)
    assert quiet_machine == [5.0]
    assert "no merge request 8" in run(tmp_path, report(), where=("--gitlab", "group/tool", "--mr", "8"), status=2).stderr
    assert "404 Project" in run(tmp_path, report(), where=("--gitlab", "group/none", "--mr", "7"), status=2).stderr
    lab.writes = False
    assert "may not comment" in run(tmp_path, report(new=7), where=LAB).stderr
    monkeypatch.setenv("GITLAB_TOKEN", "wrong")
    assert "CI_JOB_TOKEN may not" in run(tmp_path, report(), where=LAB, status=2).stderr
    monkeypatch.setenv("GITLAB_CI", "true")
    monkeypatch.setenv("CI_PROJECT_ID", "42")
    monkeypatch.setenv("CI_MERGE_REQUEST_IID", "7")
    monkeypatch.delenv("GITLAB_TOKEN")
    assert "no token (GITLAB_TOKEN" in run(tmp_path, report(), where=()).stderr


def test_gitlab_runs_no_command_out_of_a_repository_and_takes_suggestions(lab: Host, tmp_path: Path) -> None:
    lab.patches = {"k.cu": PATCH, "v.cu": PATCH.replace("+  register", "   register")}
    rule = msgspec.structs.replace(rules()["nvshmem"], title="/close", why="/approve me")
    evil = finding(rule, "/merge.cu", 1, "```\n/close\n/unassign @x", "/lock", fingerprint="1")
    run(tmp_path, report(findings=(evil, fixable()), rules={rule.id: rule, **rules()}), where=LAB)
    assert lab.commands == [] and len(lab.reviews) == 1 and lab.reviews[0]["position"]["new_line"] == 2
    run(tmp_path, report(findings=(evil, fixable()), rules={rule.id: rule, **rules()}), where=LAB)
    assert len(lab.reviews) == 1 and len(lab.bodies) == 2
    unchanged = msgspec.structs.replace(fixable(mark="bb"), path="v.cu")
    run(tmp_path, report(findings=(unchanged,)), where=LAB)
    assert (lab.reviews[1]["position"]["new_line"], lab.reviews[1]["position"]["old_line"]) == (2, 3)


def test_links_go_to_the_server_that_is_told_and_not_to_that_of_the_ci(lab: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI_SERVER_URL", "https://elsewhere.example")
    run(tmp_path, report(new=1), where=LAB)
    assert "(https://elsewhere.example/group/tool/-/blob/" in lab.bodies[0]
    run(tmp_path, report(new=1), "--api-url", lab.url + "/api/v4", where=LAB)
    assert f"({lab.url}/group/tool/-/blob/" in lab.bodies[0] and "elsewhere" not in lab.bodies[0]


def test_markers() -> None:
    assert marker_of(f"{Marker('a.b-c', 7)}\nx") == Marker("a.b-c", 7)
    assert marker_of(f"{Marker('a', fix='0af')}") == Marker("a", 0, "0af")
    assert marker_of("text <!-- porter:v1 key=a -->") is None and marker_of("<!-- porter:v2 key=a -->") is None
    with pytest.raises(ConfigError):
        text.check_url("https://x y")


def test_the_command_line_has_no_place_for_a_token() -> None:
    words = json.dumps([param.opts for param in cli_comment.comment.params])
    assert "token" not in words and "password" not in words
