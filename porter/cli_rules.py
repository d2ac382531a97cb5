"""The commands `porter rules list | new | test | docs | stale`: the catalogue for those who read it and those who add to it."""

from __future__ import annotations

import datetime
from pathlib import Path

import click

from porter.errors import ConfigError

FAILED = 1


@click.group()
def rules() -> None:
    """List, test, document and add rules."""


@rules.command("list")
@click.option("--category", default="", help="Only this category.")
@click.option("--rules", "folders", multiple=True, type=click.Path(), help="Folder with rules of your own.")
def list_rules(category: str, folders: tuple[str, ...]) -> None:
    """One line a rule: id, severity, category, title."""
    from porter.rules import load

    for rule in load(folders).rules.values():
        if not category or rule.category == category:
            click.echo(f"{rule.id:36} {rule.severity.value:8} {rule.category:20} {rule.title}")


@rules.command("test")
@click.argument("only", default="")
@click.option("--fixtures", default="", type=click.Path(), help="Folder with marked fixtures, one folder a rule.")
@click.option("--rules", "folders", multiple=True, type=click.Path(), help="Folder with rules of your own.")
def test_rules(only: str, fixtures: str, folders: tuple[str, ...]) -> None:
    """Run the examples of every rule (or of ONLY one) and the marked fixtures; exit with 1 when one fails."""
    from porter.rules import load
    from porter.testing import check_fixtures, check_rule_examples

    ruleset = load(folders)
    if only and only not in ruleset.rules:
        raise ConfigError(f"no rule is called '{only}'", "see porter rules list")
    failures = sorted(check_rule_examples(ruleset, only))
    if fixtures:
        failures += sorted(check_fixtures(Path(fixtures), ruleset, only))
    for failure in failures:
        click.echo(f"{failure.path}:{failure.line}: {failure.rule}: {failure.what}")
    tested = 1 if only else len(ruleset.rules)
    many = [f"{n} {word}{'s' if n != 1 else ''}" for n, word in ((tested, "rule"), (len(failures), "failure"))]
    click.echo(f"{many[0]} tested, {many[1]}", err=True)
    if failures:
        raise SystemExit(FAILED)


@rules.command("docs")
@click.option("--output", default="-", help="File to write, - for standard output; .html gives a searchable page, .json the schema.")
def document(output: str) -> None:
    """The catalogue of all rules: Markdown, or one searchable HTML page."""
    from porter.catalog import in_format
    from porter.rules import load
    from porter.write import write_whole

    text = in_format(load(), Path(output).suffix)
    if output == "-":
        click.echo(text, nl=False)
    else:
        write_whole(Path(output), text)


@rules.command("new")
@click.argument("area")
@click.argument("rule_id")
@click.option("--folder", default="rules", show_default=True, type=click.Path(), help="Folder that holds the areas.")
def new(area: str, rule_id: str, folder: str) -> None:
    """Write the skeleton of a rule to FOLDER/AREA/RULE_ID.toml."""
    from porter.catalog import skeleton
    from porter.rules import SLUG
    from porter.write import write_whole

    if not SLUG.match(rule_id) or not SLUG.match(area):
        raise ConfigError(f"'{area}/{rule_id}' is not made of slugs", "lower-case words joined by hyphens")
    path = Path(folder) / area / f"{rule_id}.toml"
    if path.exists():
        raise ConfigError(f"{path} exists already")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, skeleton(rule_id))
    click.echo(f"{path}: fill it in, then run porter rules test {rule_id} --rules {folder}")


@rules.command("stale")
@click.option("--days", default=180, show_default=True, type=click.IntRange(1, 36_500), help="Age in days from which a rule is stale.")
@click.option("--today", type=click.DateTime(["%Y-%m-%d"]), default=None, help="Day to count from; default: today.")
@click.option("--rules", "folders", multiple=True, type=click.Path(), help="Folder with rules of your own.")
def stale(days: int, today: datetime.datetime | None, folders: tuple[str, ...]) -> None:
    """List the rules whose newest source was read more than DAYS days ago, oldest first; exit with 1 when there is one."""
    from porter.catalog import stale_rules
    from porter.rules import load

    ruleset = load(folders)
    found = stale_rules(ruleset, today.date() if today else datetime.date.today(), days)
    for age, rule in found:
        newest = max(source.checked for source in rule.sources)
        click.echo(f"{rule.id:36} {newest} {age:5} days  {rule.title}")
    click.echo(f"{len(found)} of {len(ruleset.rules)} rules have no source read in the last {days} days", err=True)
    if found:
        raise SystemExit(FAILED)
