"""The command `porter comment REPORT.json`: says on a pull request what it brings and takes away."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from porter.errors import ConfigError, InputError, ToolError

if TYPE_CHECKING:
    from porter.comment.choose import Chosen
    from porter.comment.github import GitHub
    from porter.comment.gitlab import GitLab
    from porter.comment.values import Marker, Place, Suggestion
    from porter.model import Report

SEVERITIES = ("info", "minor", "major", "blocker")
DONE = {
    "created": "commented", "updated": "the comment was updated", "unchanged": "the comment says this already",
    "silent": "nothing new and nothing fixed, so there is no comment", "stale": "a newer run has commented already",
}  # fmt: skip
NO_RIGHT = "the token may not comment here (a pull request from a fork gets a read-only one)"


@click.command()
@click.argument("report", metavar="REPORT.json", type=click.Path())
@click.option("--repo", default="", metavar="OWNER/NAME", help="GitHub repository; default: GITHUB_REPOSITORY.")
@click.option("--pr", type=click.IntRange(1), help="Number of the pull request; default: the one that the workflow runs for.")
@click.option(
    "--gitlab", "project", default="", metavar="PROJECT", help="GitLab project, path or number; default: CI_PROJECT_ID in its CI."
)
@click.option("--mr", type=click.IntRange(1), help="Number (iid) of the merge request; default: CI_MERGE_REQUEST_IID.")
@click.option("--before", default="", metavar="FILE.json", help="Compare with this report, where REPORT.json was made without --baseline.")
@click.option("--prefix", default="", metavar="FOLDER", help="The scanned folder below the repository's root, where it is not the root.")
@click.option("--name", default="default", show_default=True, help="Name of this comment, where two bots comment on one pull request.")
@click.option("--severity", type=click.Choice(SEVERITIES), default="minor", show_default=True, help="Lowest severity that is shown.")
@click.option("--report-url", default="", metavar="URL", help="Where the full report can be read.")
@click.option("--api-url", default="", metavar="URL", help="API of an enterprise server; default: GITHUB_API_URL or CI_API_V4_URL.")
@click.option("--suggest/--no-suggest", default=True, show_default=True, help="One-click suggestions for fixes that are marked safe.")
@click.option("--annotations/--no-annotations", default=None, help="Workflow annotations on standard output; default: in GitHub Actions.")
@click.option("--dry-run", is_flag=True, help="Print the comment; ask and tell no service.")
def comment(report: str, **options: Any) -> None:
    """Comment on a pull request: new and fixed findings of a JSON report, in one comment that is kept up to date."""
    from porter.comment import choose, text
    from porter.comment.values import Marker, check_name
    from porter.model import Severity

    env = os.environ
    audited = choose.below(_read(report, options["before"]), options["prefix"])
    chosen = choose.choose(audited, Severity(options["severity"]))
    marker = Marker(check_name(options["name"]), _run(env))
    target = _target(options, env)
    body = text.comment(audited, chosen, marker, target.place(audited.commit), options["report_url"])
    if options["dry_run"]:
        _print(body, env)
        if chosen.is_empty:
            _tell("nothing new and nothing fixed: a comment that stands already would say this, none would be made")
        return
    where = _beside(audited, chosen, options, env)
    if not target.token:
        _tell(f"no token ({target.token_names}), so there is no comment{where}")
        return
    _tell(_posted(target, audited, chosen, marker, body, options, where))


class _Target:
    """Which pull request of which service, and how to get there."""

    def __init__(self, is_gitlab: bool, project: str, number: int, api: str, web: str, token: str) -> None:
        self.is_gitlab = is_gitlab
        self.project = project
        self.number = number
        self.api = api
        self.web = web
        self.token = token
        self.token_names = "GITLAB_TOKEN or PORTER_TOKEN" if is_gitlab else "GITHUB_TOKEN, GH_TOKEN or PORTER_TOKEN"

    def place(self, commit: str) -> Place:
        """Where the files of the report's commit can be looked at; nowhere for a project that is given by its number."""
        from porter.comment.values import Place

        web = f"{self.web}/{self.project}" if self.web and "/" in self.project else ""
        return Place(web, commit, self.is_gitlab)


def _target(options: Mapping[str, Any], env: Mapping[str, str]) -> _Target:
    """The options over what a CI says of itself; raises ConfigError where the pull request is not known."""
    from porter.comment import github, gitlab
    from porter.comment.wire import check_address

    if options["repo"] and options["project"]:
        raise ConfigError("--repo and --gitlab are two services", "one comment goes to one pull request")
    is_gitlab = bool(
        options["project"] or options["mr"] or (not options["repo"] and env.get("GITLAB_CI") and not env.get("GITHUB_ACTIONS"))
    )
    if is_gitlab:
        project = options["project"] or env.get("CI_MERGE_REQUEST_PROJECT_PATH") or env.get("CI_PROJECT_ID", "")
        number = options["mr"] or _number(env.get("CI_MERGE_REQUEST_IID", ""))
        api = check_address(options["api_url"] or env.get("CI_API_V4_URL") or gitlab.API)
        web = (env.get("CI_SERVER_URL", "") if not options["api_url"] else "") or gitlab.web_of(api)
        token = env.get("PORTER_TOKEN") or env.get("GITLAB_TOKEN", "")
    else:
        project = options["repo"] or env.get("GITHUB_REPOSITORY", "")
        number = options["pr"] or _number((re.match(r"refs/pull/(\d+)/", env.get("GITHUB_REF", "")) or ("", ""))[1])
        api = check_address(options["api_url"] or env.get("GITHUB_API_URL") or github.API)
        web = (env.get("GITHUB_SERVER_URL", "") if not options["api_url"] else "") or github.web_of(api)
        token = env.get("PORTER_TOKEN") or env.get("GITHUB_TOKEN") or env.get("GH_TOKEN", "")
    if not options["dry_run"] and (not project or not number):
        raise ConfigError("the pull request is not known", "--repo OWNER/NAME --pr NUMBER, or --gitlab PROJECT --mr NUMBER")
    token = token.strip()
    if not token.isascii() or not token.isprintable():
        raise ConfigError("the token holds characters that no token has", "is it the token, and only that?")
    return _Target(is_gitlab, project, number, api, web.rstrip("/"), token)


def _number(text: str) -> int:
    return int(text) if text.isdigit() and len(text) < 10 else 0


def _run(env: Mapping[str, str]) -> int:
    """The number of this CI run, which grows from run to run; 0 outside CI."""
    text = env.get("GITHUB_RUN_ID") or env.get("CI_PIPELINE_ID") or ""
    return int(text) if text.isdigit() and len(text) < 19 else 0


def _read(path: str, before: str) -> Report:
    """The report, held against an earlier one where that is given."""
    from porter import report_file
    from porter.baseline import against_saved, load

    found = report_file.read(Path(path))
    if not before:
        return found
    if found.scope is not None:
        raise InputError(
            f"{path}: holds changed files alone (--changed-since), so it cannot be compared", "scan everything; the cache helps"
        )
    if found.baseline is not None:
        raise InputError(f"{path}: was compared with {found.baseline.source} already", "leave --before out")
    return against_saved(found, load(Path(before)), Path(before).name)


def _beside(report: Report, chosen: Chosen, options: Mapping[str, Any], env: Mapping[str, str]) -> str:
    """Step summary and annotations, which need no token; the answer says where the findings can be read without a comment."""
    from porter.comment import actions, choose, text
    from porter.comment.values import Marker, Place
    from porter.model import Severity

    wanted = options["annotations"]
    if wanted if wanted is not None else env.get("GITHUB_ACTIONS") == "true":
        for line in actions.commands(chosen):
            click.echo(line)
    file = env.get("GITHUB_STEP_SUMMARY", "")
    if not file:
        return ""
    longer = choose.choose(report, Severity(options["severity"]), 100)
    body = text.comment(report, longer, Marker(options["name"]), Place(), options["report_url"], 500_000)
    return "; the step summary has the findings" if actions.add_summary(Path(file), body) else "; the step summary is full"


def _posted(target: _Target, report: Report, chosen: Chosen, marker: Marker, body: str, options: Mapping[str, Any], where: str) -> str:
    """Say it on the pull request; in words what came of it."""
    from porter.comment import github, gitlab, sticky, suggest
    from porter.comment.wire import Client, Refused

    module = gitlab if target.is_gitlab else github
    client = Client(target.api, module.headers(target.token), target.token, time.sleep, time.time)
    try:
        service: GitHub | GitLab = (gitlab.GitLab if target.is_gitlab else github.GitHub)(client, target.project, target.number)
        done = DONE[sticky.place(service, marker, body, not chosen.is_empty)]
        made = suggest.suggestions(report, chosen.new, marker.name) if options["suggest"] else []
        return done + _suggested(service, made)
    except Refused as error:
        if error.status == 403 and not error.is_limit:
            return NO_RIGHT + where
        raise _explained(error, target) from None
    finally:
        client.close()


def _suggested(service: GitHub | GitLab, made: list[Suggestion]) -> str:
    """Put suggestions on their lines; the comment stands already, so what hinders them is only told."""
    from porter.comment import suggest

    try:
        added = suggest.post(service, made)
    except ToolError as error:
        return f"; no suggestions: {error.message}"
    return f", with {added} suggestion{'s' if added > 1 else ''}" if added else ""


def _explained(error: Any, target: _Target) -> ToolError:
    """The refusal with what can be done about it."""
    kind = "merge request" if target.is_gitlab else "pull request"
    hints = {
        401: "the token is wrong or has ended" + ("; CI_JOB_TOKEN may not write notes" if target.is_gitlab else ""),
        404: f"there is no {kind} {target.number} in {target.project}, or the token may not see it",
        403: "the limit of requests is used up; try again later", 429: "the limit of requests is used up; try again later",
    }  # fmt: skip
    return ToolError(error.message, hints.get(error.status, ""))


def _print(body: str, env: Mapping[str, str]) -> None:
    """The comment on standard output; a workflow's runner would obey some lines, so it is told not to."""
    from porter.comment import actions

    click.echo(actions.quoted(body) if env.get("GITHUB_ACTIONS") == "true" else body, nl=env.get("GITHUB_ACTIONS") == "true")


def _tell(words: str) -> None:
    from porter.render.neutral import one_line

    click.echo(f"porter: {one_line(words)}", err=True)
