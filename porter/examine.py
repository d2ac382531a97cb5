"""Examination of one file in a worker: read, parse, detect, translate; only plain values leave it."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import msgspec

from porter import cache_keys, detect, excerpts, ignore_marks, kernel_features, limits, link, origin, own_names, survey_widths, unread
from porter.config import Config
from porter.contents import content_of
from porter.discover import Entry
from porter.flow.program import Program
from porter.hipify import difference, engine, gets_runtime_unasked, perl
from porter.hipify.live import live_lines
from porter.kinds import decode, kind_of, looks_binary
from porter.long_lines import is_long, of_long_line
from porter.macro_states import aliases
from porter.many import Many
from porter.model import HipifyCount, Hit, Kernel, Live, Origin, Problem, Related, SourceFile
from porter.packed import text as packed_text
from porter.parse import Parsed, parser_of, python
from porter.parse.guards import SourceGuards
from porter.parse.python_words import words_of
from porter.parse.word_index import index_of
from porter.rules import RuleSet
from porter.size.repository import served_by
from porter.size.served import Served
from porter.survey_header import of_header
from porter.tested import runner

SURVEYED = frozenset({"cuda", "cxx", "cmake", "make", "python", "bazel"})
MAX_DIFF_LINES = 400
DEVICE_WORDS = frozenset((b"__shfl", b"__ballot", b"__syncthreads", b"__syncwarp", b"__activemask", b"threadIdx", b"blockIdx", b"cg::"))
KEPT_BYTES = 4 * 2**20  # of sources whose parses all workers together hold from the survey to the examination, at 60 times their size


class Surveyed(msgspec.Struct, frozen=True):
    """What a file tells the others, None for a file that tells nothing."""

    path: str
    survey: link.Survey | None
    problems: tuple[Problem, ...] = ()
    digest: bytes = b""  # of the bytes that were read


class Examined(msgspec.Struct, frozen=True):
    """What one file gave. ``snippets`` maps lines that hits stand on to their text, ``context`` the lines near them (packed.py)."""

    path: str
    kind: str
    origin: Origin
    lines: int
    coverage: float = 1.0
    hits: Many[Hit] = ()
    snippets: dict[int, str] = {}
    problems: tuple[Problem, ...] = ()
    hipify: HipifyCount | None = None
    kernels: Many[Kernel] = ()
    counted: bool = True
    amd_signs: tuple[Related, ...] = ()
    served: tuple[Served, ...] = ()  # models that its commands and calls serve
    ignores: tuple[ignore_marks.IgnoreMark, ...] = ()
    context: bytes = b""
    digest: bytes = b""  # of the bytes that were read
    alone: bool = False  # whether no other file had a say
    tests: str = ""  # what runs compiled tests


class Auditor:
    """The read-only state that every file is examined with: settings, rules, detectors, and the index of the repository."""

    def __init__(
        self, config: Config, ruleset: RuleSet, root: Path | None = None, index: Any = None, modules: frozenset[str] = frozenset()
    ) -> None:
        """Compile the rules; raises ImportError when a rule names a detector that does not exist.

        ``modules`` are the Python packages that the repository itself holds (own_names): they are no dependencies.
        """
        self.config = config
        self.ruleset = ruleset
        self.root = root or Path()
        self.nothing = link.link([], config.defines)
        self._kept: dict[str, Parsed] = {}
        self._kept_bytes = 0
        self.room = KEPT_BYTES
        self._digest = b""
        self.matcher = detect.Matcher(ruleset)
        self.detectors = detect.load_detectors(ruleset)
        self.python_words = words_of(ruleset.rules.values())
        headers = {glob.split("*")[0] for rule in ruleset.rules.values() for glob in rule.match.get("include", ())}
        self.include_words = index_of(frozenset(name.encode() for name in headers if len(name) > 3) | DEVICE_WORDS)
        self.insights = frozenset(rule.id for rule in ruleset.rules.values() if rule.is_insight)
        self.amd_rules = frozenset(rule.id for rule in ruleset.rules.values() if Origin.AMD.value in rule.origins)
        asked = {ruleset.rules[rule].detector for rule in self.amd_rules}  # of those that read CUDA, two; the others' hits would not count
        self.amd_python_words = words_of((ruleset.rules[rule] for rule in sorted(self.amd_rules)), own=False)
        self.amd_detectors = tuple(one for one in self.detectors if one.name in asked or "cuda" not in one.kinds)
        self.learn(index if index is not None else self.nothing, modules)

    def learn(self, index: Any, modules: frozenset[str]) -> None:
        """Take what the survey of all files gave, for the examinations that follow."""
        self.index = index
        self.modules = modules
        self.aliases = aliases(index)
        self.widths = survey_widths.defined_for_kernels(index.files, index.resolve)

    def load(self, entry: Entry) -> SourceFile | Problem:
        """The file's text; a Problem for one that is gone, unreadable, too large, or no text at all."""
        data = content_of(self.root, entry, self.config)
        self._digest = cache_keys.content(data) if isinstance(data, bytes) and self.config.cache_dir else b""
        if isinstance(data, Problem):
            return data
        if entry.kind == "binary":
            return SourceFile(entry.path, "binary", data, entry.origin, entry.sibling, entry.size if len(data) < entry.size else 0)
        if looks_binary(data):
            return Problem("read", entry.path, 0, "named like a source file, but its content is binary; not read")
        text = decode(data)
        kind = kind_of(entry.path, text) or entry.kind if entry.kind in ("cuda", "cxx") else entry.kind
        whose = entry.origin
        if whose is Origin.OWN and kind in ("cuda", "cxx", "python", "ptx") and origin.is_generated(text[: origin.HEAD_BYTES]):
            whose = Origin.GENERATED
        return SourceFile(entry.path, kind, text, whose, entry.sibling)

    def own_names(self, entry: Entry) -> frozenset[str]:
        """Names that the project gives itself in a file."""
        return own_names.of(self.root, entry.path)

    def survey(self, entry: Entry) -> Surveyed:
        """What a file tells the others: macros, constants, functions, launches, includes, -D flags."""
        try:
            with limits.within(limits.seconds_for(entry.size)):
                return msgspec.structs.replace(self._survey(entry), digest=self._digest)
        except limits.TooLong:  # the examination says so
            return Surveyed(entry.path, None, (Problem("survey", entry.path, 0, _too_long(entry)),))

    def _survey(self, entry: Entry) -> Surveyed:
        source = self.load(entry)
        if isinstance(source, Problem) or is_long(source):
            return Surveyed(entry.path, None)
        if source.kind == "python" and not source.path.endswith("setup.py"):
            return Surveyed(entry.path, None)
        try:
            if source.kind == "cxx":
                return Surveyed(entry.path, of_header(source))
            parse = parser_of(source.kind)
            parsed = parse(source) if parse else None
            if parsed is not None and source.kind == "cuda":
                self._keep(parsed)
            return Surveyed(entry.path, link.survey(parsed) if parsed is not None else None)
        except Exception as error:  # what a file tells the others may be lost, the file itself is still examined
            what = f"the survey failed: {type(error).__name__}: {str(error)[:200]}"
            return Surveyed(entry.path, None, (Problem("survey", entry.path, 0, what),))

    def keep(self, room: int) -> None:
        """Change the room for parses that all workers together have, in bytes of sources."""
        self.room = room

    def _keep(self, parsed: Parsed) -> None:
        """Hold a parse for the examination; a parse takes some sixty times its text, so only so much of it."""
        if self._kept_bytes + len(parsed.file.data) <= self.room // max(self.config.jobs, 1):
            self._kept[parsed.file.path] = parsed
            self._kept_bytes += len(parsed.file.data)

    def _parsed(self, source: SourceFile) -> Parsed | None:
        """The parse of a file, the one that the survey made where it is still here; None for a kind that is only counted."""
        kept = self._kept.pop(source.path, None)
        if kept is not None:
            self._kept_bytes -= len(kept.file.data)
            if kept.file == source:
                return kept
        parse = parser_of(source.kind)
        if parse is None or (source.kind == "cxx" and not self._cxx_matters(source)):
            return None
        if source.kind == "python":
            return python.parse(source, self.amd_python_words if source.origin is Origin.AMD else self.python_words)
        return parse(source)

    def examine(self, entry: Entry) -> Examined:
        """All that one file gives; what goes wrong is in the problems."""
        try:
            with limits.within(limits.seconds_for(entry.size)):
                return msgspec.structs.replace(self._examine(entry), digest=self._digest)
        except limits.TooLong:
            return Examined(entry.path, entry.kind, entry.origin, 0, 0.0, problems=(Problem("parse", entry.path, 0, _too_long(entry)),))

    def _examine(self, entry: Entry) -> Examined:
        source = self.load(entry)
        if isinstance(source, Problem):
            return Examined(entry.path, entry.kind, entry.origin, 0, problems=(source,), counted=False)
        lines = 0 if source.kind == "binary" else source.data.count(b"\n") + (not source.data.endswith(b"\n") and bool(source.data))
        counted_only = source.origin in (Origin.VENDORED, Origin.GENERATED) and not self.config.include_vendored
        if counted_only or (source.origin is Origin.AMD and not self.amd_rules):
            return Examined(entry.path, source.kind, source.origin, lines)
        if is_long(source):
            return Examined(entry.path, source.kind, source.origin, lines, 0.0, problems=(of_long_line(source),))
        try:
            return self._look(source, lines)
        except Exception as error:  # a crash costs one file, and is seen
            what = f"the examination failed: {type(error).__name__}: {str(error)[:200]}"
            return Examined(source.path, source.kind, source.origin, lines, 0.0, problems=(Problem("parse", source.path, 0, what),))

    def _look(self, source: SourceFile, lines: int) -> Examined:
        parsed = self._parsed(source)
        if parsed is None:
            return Examined(source.path, source.kind, source.origin, lines, alone=True)
        try:
            return self._judged(source, parsed, lines)
        finally:
            _let_go(parsed)

    def _judged(self, source: SourceFile, parsed: Parsed, lines: int) -> Examined:
        alone = source.kind not in SURVEYED.difference(("python",)) and not source.path.endswith("setup.py") and not parsed.embedded
        index = self.nothing if alone else self.index
        parsed.facts = own_names.without(parsed.facts, self.modules)
        index.enrich(parsed)
        is_amd = source.origin is Origin.AMD
        hits, problems = detect.detect(parsed, index, self.config, self.matcher, self.amd_detectors if is_amd else self.detectors)
        if is_amd:
            hits = [hit for hit in hits if hit.rule in self.amd_rules]
        if source.sibling or source.path in index.unbuilt:
            hits = [msgspec.structs.replace(hit, live=Live.NO) for hit in hits]
        else:
            hits = unread.explained(parsed, hits, self.insights)
        hipified, more = self._hipify(source, parsed)
        return Examined(
            source.path, source.kind, source.origin, lines, parsed.coverage, tuple(hits),
            {} if source.kind == "binary" else excerpts.snippets(source.data, hits),
            tuple(dict.fromkeys([*parsed.all_problems, *problems, *more])), hipified, self._kernels(parsed, hits),
            amd_signs=excerpts.amd_signs(parsed), served=served_by(source, parsed.facts), ignores=ignore_marks.read(parsed),
            context=b"" if source.kind == "binary" else excerpts.context(source.data, hits), alone=alone, tests=runner(parsed.facts),
        )  # fmt: skip

    def _cxx_matters(self, source: SourceFile) -> bool:
        """A C++ file without any CUDA sign is only read when it names something that a rule knows, or a warp's width for kernels."""
        return source.path in self.widths or self.include_words.holds(source.data)

    def _kernels(self, parsed: Parsed, hits: list[Hit]) -> tuple[Kernel, ...]:
        if parsed.file.kind != "cuda" or parsed.file.origin is Origin.AMD:
            return ()
        return kernel_features.described(parsed, self.index, hits)

    def _hipify(self, source: SourceFile, parsed: Parsed) -> tuple[HipifyCount | None, list[Problem]]:
        """What the mechanical translation does to a CUDA file, by porter's engine and by hipify-perl where there is one."""
        if source.kind != "cuda" or source.origin is Origin.AMD or source.path.endswith(".hip"):
            return None, []
        options = engine.Options(rocm=self.config.rocm, runtime_is_implicit=gets_runtime_unasked(source.path), keep=self.aliases)
        live = live_lines(parsed.guards) if isinstance(parsed.guards, SourceGuards) and parsed.guards.regions else None
        done = engine.convert(source.data, options, live)
        left = Counter(item.name for item in done.left)
        output, used, words, problems = done.output, "builtin", "", []
        if self.config.hipify_perl:
            try:
                output = perl.run(Path(self.config.hipify_perl), source.path, source.data, self.config.hipify_timeout)
                used = "hipify-perl"
                words = difference.disagreement(done.output, output)
            except perl.PerlFailed as error:
                problems.append(Problem("hipify", source.path, 0, f"hipify-perl: {error}; the built-in engine's output is shown", False))
        diff = packed_text(engine.diff(source.data, output, source.path, MAX_DIFF_LINES))
        return HipifyCount(sum(done.converted.values()), left.total(), dict(done.converted), dict(left), diff, used, words), problems

    def rule_lines(self, name: str, data: bytes) -> dict[str, set[int]]:
        """For tests: which rules hit a file that exists only in memory, and on which lines; dead code counts as not hit."""
        return self.rule_lines_of({name: data})[name]

    def rule_lines_of(self, files: dict[str, bytes]) -> dict[str, dict[str, set[int]]]:
        """The same for files that know of each other."""
        sources = {n: SourceFile(n, kind_of(n, d) or "", d if kind_of(n) == "binary" else decode(d)) for n, d in files.items()}
        parsed = {n: parse(s) for n, s in sources.items() if (parse := parser_of(s.kind))}
        surveys = [link.survey(p) for n, p in parsed.items() if p.file.kind in SURVEYED]
        index = link.link([s for s in surveys if s is not None], self.config.defines)
        found: dict[str, dict[str, set[int]]] = {n: defaultdict(set) for n in files}
        for name, one in parsed.items():
            index.enrich(one)
            hits, problems = detect.detect(one, index, self.config, self.matcher, self.detectors)
            if problems:
                raise AssertionError(problems)
            for hit in hits:
                if hit.live is not Live.NO and not hit.optional:
                    found[name][hit.rule].add(hit.span.line)
        return found


def _let_go(parsed: Parsed) -> None:
    """Take a parse that nobody reads any more apart: its values point at each other in circles, 2 MB for a thousand lines of kernels.

    Python's collector would find them, but so late that they come to gigabytes.
    """
    for one in (parsed, *parsed.embedded):
        program = one.extra.get("flow_program")
        if isinstance(program, Program):
            vars(program).clear()
        one.extra.clear()


def _too_long(entry: Entry) -> str:
    return f"reading it took more than {limits.seconds_for(entry.size):.0f} s of processor time"
