"""The command `porter scan`: options to Config, report to files, findings to an exit status."""

from __future__ import annotations

import datetime
import os
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from porter import cli_report, programs
from porter.config import DEFAULT_TARGETS, Config, check_targets
from porter.errors import ConfigError

if TYPE_CHECKING:
    from porter.settings import Settings

FORMATS = ("terminal", "html", "json", "sarif", "markdown", "csv", "gitlab", "junit", "xlsx")
SEVERITIES = ("info", "minor", "major", "blocker")
FOUND, INCOMPLETE = 1, 3


@click.command()
@click.argument("path", type=click.Path())
@click.option("--target", default="", show_default=",".join(DEFAULT_TARGETS), help="GPU targets, separated by commas.")
@click.option("--rocm", default="", help="ROCm version to port to; default: the newest that porter knows.")
@click.option("--format", "formats", multiple=True, type=click.Choice(FORMATS), help="Report format; may be repeated with --output.")
@click.option("--output", "outputs", multiple=True, help="Report file, - for standard output; its ending gives the format.")
@click.option("--fail-on", type=click.Choice(SEVERITIES), help="Exit with 1 when a finding has this severity or a higher one.")
@click.option("--baseline", default="", metavar="REV|FILE", help="Compare with a git revision of PATH, or with a saved JSON report.")
@click.option("--fail-on-new", type=click.Choice(SEVERITIES), help="As --fail-on, for findings that the baseline does not have.")
@click.option("--strict", is_flag=True, help="Exit with 3 when something could not be read in full.")
@click.option("--exclude", multiple=True, help="Leave out what matches this .gitignore pattern; may be repeated.")
@click.option("--include-vendored", is_flag=True, help="Count third-party and machine-made code too.")
@click.option("--define", "-D", "defines", multiple=True, metavar="NAME[=VALUE]", help="Preprocessor macro of the build for AMD.")
@click.option("--rules", "rules_dirs", multiple=True, type=click.Path(), help="Folder with rules of your own; may be repeated.")
@click.option("--hipify", "hipify_path", default="", help="Path of hipify-perl; default: looked for, built-in engine where absent.")
@click.option("--config", "settings_file", default="", help="Settings file; default: porter.toml or pyproject.toml in PATH.")
@click.option("--no-config", is_flag=True, help="Do not read settings from PATH.")
@click.option("--model", "models", multiple=True, help="Size this model too: a config.json, its folder, or a public name; may be repeated.")
@click.option("--prices", default="", type=click.Path(), help="TOML or CSV with monthly prices per server of eight GPUs.")
@click.option("--throughput", multiple=True, metavar="[GPU=]N", help="Tokens a second you measured for one replica; may be repeated.")
@click.option("--require-reason", is_flag=True, help="A suppression without a reason does not count.")
@click.option("--changed-since", default="", metavar="REV", help="Look only at files that differ from this git revision of PATH.")
@click.option("--verify", is_flag=True, help="Ask the compilers of this machine too how far the translation comes (see porter verify).")
@click.option("--no-cache", is_flag=True, help="Read every file again, those of --baseline too, and remember nothing.")
@click.option("--cache-dir", default="", metavar="FOLDER", help="Where porter remembers what files hold; default: the user's cache.")
@click.option("--jobs", type=click.IntRange(0, 256), default=None, help="Worker processes; 0 runs all in this process.")
@cli_report.options
def scan(path: str, formats: tuple[str, ...], outputs: tuple[str, ...], fail_on: str | None, strict: bool, **options: Any) -> None:
    """Scan a repository or a file, and write the report (porter-report.html when no --output is given)."""
    from porter import settings
    from porter.size import section
    from porter.write import check as check_output

    if not path:
        raise ConfigError("PATH is empty", "a dot means this folder")
    wanted = _pairs(formats, outputs)
    if options["fail_on_new"] and not options["baseline"]:
        raise ConfigError("--fail-on-new needs --baseline", "without one every finding is new: --fail-on")
    if options["changed_since"] and options["baseline"]:
        raise ConfigError(
            "--changed-since and --baseline do not go together", "--baseline compares everything; with the cache that is quick"
        )
    named = Path(options["settings_file"]) if options["settings_file"] else None
    config = _config(options, settings.load(Path(path), named, not options["no_config"]))
    section.check(config)
    delivery = cli_report.Delivery(**{name: options[name] for name in cli_report.Delivery.__struct_fields__})
    look = cli_report.look_of(delivery)
    for _, file in wanted:
        if file != "-":
            check_output(Path(file))
    if options["verify"]:
        _need_compiler(config)
    progress, stop = cli_report.progress(delivery.quiet)
    try:
        report = _audited(Path(path), config, options["baseline"], progress)
        report = _verified(report, Path(path), config) if options["verify"] else report
    finally:
        stop()
    cli_report.deliver(report, wanted, delivery, look)
    if strict and not report.complete:
        raise SystemExit(INCOMPLETE)
    if _fails(report.findings, fail_on) or _fails((f for f in report.findings if f.state == "new"), options["fail_on_new"]):
        raise SystemExit(FOUND)


def _audited(root: Path, config: Config, baseline: str, progress: Callable[[str, int, int], None]) -> Any:
    """The report, held against the baseline where there is one; what cannot be a baseline is refused before the scan."""
    from porter import unchanged

    if not baseline:
        watch = unchanged.Watch(root, config, _command())
        known = watch.report()
        if known is not None:
            return known
        from porter import limits, pipeline  # and with it all that reads files: an unchanged tree needs none of it

        with limits.interrupted_at_once(config.jobs == 0 and not config.changed_since):  # a revision's files are taken away again
            return pipeline.audit(root, config, progress, _command(), watch=watch)
    from porter import pipeline
    from porter.baseline import Source, against
    from porter.baseline_cache import Cache

    source = Source(baseline, root, config.git, Cache(Path(config.cache_dir)) if config.cache_dir else None)
    try:
        report = pipeline.audit(root, config, progress, _command())
        return against(report, source, config, lambda where, how: pipeline.audit(where, how, progress))
    finally:
        source.close()


def _need_compiler(config: Config) -> None:
    """Refuses --verify before the scan where no compiler is found; whether one can compile for a target is seen later."""
    from porter.verify import compilers, evidence

    if not compilers.find_all("", os.environ):
        raise evidence.no_compiler(config.targets)


def _verified(report: Any, root: Path, config: Config) -> Any:
    """The report with what the compilers of this machine say of the translation."""
    from porter.verify import evidence, project

    return evidence.confirmed(report, project.verify(root, config, os.environ))


def _fails(findings: Iterable[Any], severity: str | None) -> bool:
    return severity is not None and any(finding.severity.rank >= SEVERITIES.index(severity) for finding in findings)


def _pairs(formats: tuple[str, ...], outputs: tuple[str, ...]) -> list[tuple[str, str]]:
    """(format, file) for every report asked for; raises ConfigError where one does not tell the other."""
    if not formats and not outputs:
        return [("html", "porter-report.html")]
    if formats and len(outputs) > len(formats) or (len(formats) > 1 and len(outputs) < len(formats)):
        raise ConfigError(f"{len(formats)} --format and {len(outputs)} --output do not pair", "give both equally often, or only --output")
    if formats and not outputs:
        return [(formats[0], "-")]
    chosen = [(formats[i] if formats else _format_of(file), file) for i, file in enumerate(outputs)]
    if sum(1 for _, file in chosen if file == "-") > 1:
        raise ConfigError("two reports cannot both go to standard output")
    return chosen


def _format_of(file: str) -> str:
    from porter.render import format_of

    return "terminal" if file == "-" else format_of(file)


def _config(options: dict[str, Any], file: Settings) -> Config:
    """The options over the settings file over the defaults; lists add up."""
    from porter.hipify import api, perl

    rocm = options["rocm"] or file.rocm or list(api.rocm_versions())[-1]
    api.hip_version(rocm)
    found = perl.find(
        options["hipify_path"], os.environ.get("PORTER_HIPIFY", ""), os.environ.get("PATH", ""), os.environ.get("ROCM_PATH", "")
    )
    if options["hipify_path"] and found is None:
        raise ConfigError(f"{options['hipify_path']}: no hipify-perl there", "leave --hipify out to let porter look for it")
    jobs = options["jobs"] if options["jobs"] is not None else len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
    return Config(
        targets=check_targets(tuple(options["target"].split(","))) if options["target"] else file.targets or DEFAULT_TARGETS, rocm=rocm,
        exclude=(*file.exclude, *options["exclude"]), include_vendored=options["include_vendored"] or file.include_vendored, jobs=jobs,
        rules_dirs=(*file.rules_dirs, *options["rules_dirs"]), hipify_perl=str(found) if found else "",
        defines=(*file.defines, *options["defines"]), severities=file.severities, per_path=file.per_path,
        require_reason=options["require_reason"] or file.require_reason, today=datetime.date.today().isoformat(), notes=file.notes,
        cache_dir="" if options["no_cache"] else _cache_dir(options["cache_dir"]), changed_since=options["changed_since"],
        git=_git(), effort=file.effort, models=options["models"], prices=options["prices"],
        throughput=_throughput(options["throughput"]),
    )  # fmt: skip


def _throughput(texts: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    """What was measured; what reads prices is loaded by those who have some."""
    if not texts:
        return ()
    from porter.size.prices import throughput_of

    return tuple(throughput_of(text) for text in texts)


def _git() -> str:
    """The path of git; empty where there is none."""
    return shutil.which("git", path=os.pathsep.join(map(str, programs.folders(os.environ.get("PATH", os.defpath))))) or ""


def _cache_dir(given: str) -> str:
    from porter.cache import folder_of

    return str(Path(given).absolute() if given else folder_of(dict(os.environ), Path.home()))


def _command() -> str:
    """How to make the same report again: without where it went and how fast, and without this machine's folders."""
    import shlex

    kept: list[str] = []
    words = iter(sys.argv[1:])
    for word in words:
        name, is_pair, value = word.partition("=")
        if name in ("--output", "--format", "--jobs", "--fail-on", "--fail-on-new", "--title", "--logo", "--lang", "--cache-dir"):
            if name == word:
                next(words, None)
        elif name not in ("--quiet", "-q", "--verbose", "-v", "--strict", "--no-cache"):
            head, value = (f"{name}=", value) if is_pair and name.startswith("--") else ("", word)
            kept.append(head + (Path(value).name if Path(value).is_absolute() else value))
    return shlex.join(["porter", *kept])
