"use strict";
(() => {
  const PAGE = 100;
  const $ = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const form = $("#filters");
  const sections = all("details.rule");
  let data = null;
  let hay = null;
  let rowOf = null;
  let visible = null; // per rule: indices of the rows that pass the filters; null while no filter was used

  function load() {
    if (data) return data;
    data = JSON.parse($("#data").textContent);
    data.languages = {};
    for (const [name, source] of Object.entries(data.patterns)) data.languages[name] = new RegExp(source, "gm");
    data.byRule = data.rules.map(() => []);
    data.rows.forEach((row, i) => data.byRule[row[0]].push(i));
    return data;
  }
  const R = { rule: 0, id: 1, path: 2, folder: 3, line: 4, severity: 5, confidence: 6, minutes: 7, message: 8, targets: 9, code: 10, start: 11, end: 12, old: 13, related: 14, fix: 15 };

  // Numbers and messages as the report's language writes them; the rules of the plural are those of tongue.py.
  const number = (n) => n.toLocaleString(load().lang === "zh" ? "en" : load().lang);
  const say = (key, values = {}) => load().words[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
  function formOf(n) {
    const lang = load().lang;
    if (lang === "zh") return 0;
    if (lang !== "ru") return n === 1 ? 0 : 1;
    if (n % 10 === 1 && n % 100 !== 11) return 0;
    return n % 10 >= 2 && n % 10 <= 4 && (n % 100 < 12 || n % 100 > 14) ? 1 : 2;
  }
  const many = (key, n, values = {}) => load().words[key][formOf(n)].replace(/\{(\w+)\}/g, (_, name) => (name === "n" ? number(n) : values[name]));

  function element(name, className, text) {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  const C_ENDING = /\.(cuh?|h|hpp|hh|hxx|cpp|cc|cxx|c|hip|inl|inc|in|ptx|js)$/i;
  function highlighted(text, path, start, end) {
    const code = element("code");
    const pattern = load().languages[C_ENDING.test(path) ? "c" : "hash"];
    pattern.lastIndex = 0;
    const tokens = [];
    let at = 0;
    for (let match; (match = pattern.exec(text)); ) {
      if (!match[0]) { pattern.lastIndex++; continue; }
      const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined) || "";
      tokens.push([at, match.index, ""], [match.index, pattern.lastIndex, kind]);
      at = pattern.lastIndex;
    }
    tokens.push([at, text.length, ""]);
    for (const [first, last, kind] of tokens) {
      const borders = [first, ...[start, end].filter((b) => start < end && first < b && b < last), last];
      for (let i = 0; i + 1 < borders.length; i++) {
        const [a, b] = [borders[i], borders[i + 1]];
        if (a >= b) continue;
        let node = document.createTextNode(text.slice(a, b));
        if (kind) { const span = element("span", kind); span.append(node); node = span; }
        if (start < end && start <= a && b <= end) { const mark = element("mark"); mark.append(node); node = mark; }
        code.append(node);
      }
    }
    return code;
  }

  const codePoints = (text, index) => [...text].slice(0, index).join("").length; // Python counts code points, scripts UTF-16

  function hours(minutes) { // two significant digits, as everywhere in the report
    const round = (value) => Number(value.toPrecision(2));
    if (round(minutes) < 1) return say("less", { n: 1 });
    return round(minutes) < 60 ? say("minute", { n: number(round(minutes)) }) : say("hour", { n: number(round(minutes / 60)) });
  }

  function place(index, before) {
    const d = load();
    const row = d.rows[index];
    const path = d.paths[row[R.path]];
    const item = element("li");
    item.id = "f-" + row[R.id];
    const at = element("p", "at");
    const link = element("a", "path", path + ":" + row[R.line]);
    link.href = "#" + item.id;
    at.append(link);
    const tag = (text, className = "tag") => at.append(" ", element("span", className, text));
    const severity = d.severities[row[R.severity]];
    if (severity !== worst(row[R.rule])) tag(say(severity), "sev s-" + severity);
    if (d.confidences[row[R.confidence]] !== "high") tag(say(d.confidences[row[R.confidence]]));
    if (row[R.old]) tag(say("unchanged"));
    item.append(at);
    if (row[R.minutes]) at.append(" ", element("span", "cost", hours(row[R.minutes])));
    if (d.messages[row[R.message]] && (before === undefined || d.rows[before][R.message] !== row[R.message])) item.append(element("p", "msg", d.messages[row[R.message]]));
    const text = row[R.code];
    if (text) {
      const pre = element("pre");
      pre.tabIndex = 0;
      pre.append(highlighted(text, path, codePoints(text, row[R.start]), codePoints(text, row[R.end])));
      item.append(pre);
    }
    if (row[R.fix]) {
      const line = element("p", "fix");
      line.append(element("span", row[R.fix][1] ? "tag good" : "tag", say(row[R.fix][1] ? "safe" : "fix")), " ", element("code", "", row[R.fix][0]));
      item.append(line);
    }
    if (row[R.related] && row[R.related].length) {
      const list = element("ul", "related");
      for (const [file, line, note] of row[R.related]) {
        const entry = element("li");
        entry.append(element("code", "", d.paths[file] + ":" + line), " " + note);
        list.append(entry);
      }
      item.append(list);
    }
    return item;
  }

  const worst = (rule) => /s-(\w+)/.exec($("summary .sev", sections[rule]).className)[1];
  const rowsOf = (rule) => (visible ? visible[rule] : load().byRule[rule]);

  // The list of a section shows the rows from data-from on; data-stale says that what it shows is not what passes the filters.
  function fill(rule, wanted, from) {
    const section = sections[rule];
    const rows = rowsOf(rule);
    const list = $(".places", section);
    if (section.dataset.stale || from !== undefined) list.replaceChildren();
    delete section.dataset.stale;
    const first = from !== undefined ? from : list.children.length ? Number(section.dataset.from || 0) : 0;
    section.dataset.from = first;
    const part = document.createDocumentFragment();
    const last = Math.min(rows.length, first + wanted);
    for (let i = first + list.children.length; i < last; i++) part.append(place(rows[i], i > first ? rows[i - 1] : undefined));
    list.append(part);
    more(section, rows.length - first - list.children.length, first);
  }

  function more(section, left, earlier) {
    const line = $(".more", section);
    line.hidden = left <= 0 && !earlier;
    $("span.js", line).textContent = [earlier && many("earlier", earlier), left > 0 && many("more", left)].filter(Boolean).join(", ");
    $("button.next", line).hidden = left <= 0;
    $("button.first", line).hidden = !earlier;
  }

  function haystack(row) {
    const d = load();
    return (d.paths[row[R.path]] + ":" + row[R.line] + " " + d.messages[row[R.message]] + " " + row[R.code] + " " + d.rules[row[R.rule]]).toLowerCase();
  }

  function matches(target, wanted) {
    if (!wanted || !target) return true;
    return target.split(" ").some((glob) => new RegExp("^" + glob.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*/g, ".*").replace(/\?/g, ".") + "$").test(wanted));
  }

  function wanted() {
    return Object.fromEntries([...new FormData(form)].filter(([, value]) => value));
  }

  function apply() {
    const d = load();
    const want = wanted();
    const words = (want.text || "").toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length && !hay) hay = d.rows.map(haystack);
    const severity = d.severities.indexOf(want.severity);
    const confidence = d.confidences.indexOf(want.confidence);
    const folder = d.folders.indexOf(want.directory);
    const targets = d.targets.map((target) => matches(target, want.target));
    visible = d.rules.map(() => []);
    let total = 0;
    d.rows.forEach((row, i) => {
      if (want.severity && row[R.severity] !== severity) return;
      if (want.category && d.categories[row[R.rule]] !== want.category) return;
      if (want.confidence && row[R.confidence] !== confidence) return;
      if (want.directory && row[R.folder] !== folder) return;
      if (want.state && Boolean(row[R.old]) !== (want.state === "unchanged")) return;
      if (!targets[row[R.targets]]) return;
      if (words.length && !words.every((word) => hay[i].includes(word))) return;
      visible[row[R.rule]].push(i);
      total++;
    });
    show(total, Object.keys(want).length > 0);
  }

  function show(total, filtered) {
    const d = load();
    let rules = 0;
    sections.forEach((section, rule) => {
      const count = visible[rule].length;
      const of = d.byRule[rule].length;
      section.hidden = count === 0;
      if (count) rules++;
      $(".howmany", section).textContent = filtered && count < of ? say("of", { n: number(count), all: many("places", of) }) : many("places", of);
      section.dataset.stale = "1";
      if (section.open && count) fill(rule, PAGE);
    });
    const every = d.rows.length;
    $("#shown").textContent = filtered ? many("ofFindings", every, { shown: number(total) }) + " " + many("rules", rules) : many("findings", every);
  }

  function remember() { // the address names the filters, so that a filtered list can be sent on
    const query = new URLSearchParams(wanted()).toString();
    try { history.replaceState(null, "", query ? "#findings?" + query : "#findings"); } catch { /* some viewers forbid it */ }
  }

  function set(query) {
    form.reset();
    for (const [name, value] of new URLSearchParams(query)) {
      const field = form.elements.namedItem(name);
      if (field) field.value = value;
    }
    apply();
  }

  function follow() {
    let hash = "";
    try { hash = decodeURIComponent(location.hash.slice(1)); } catch { return; }
    if (hash.startsWith("findings?")) {
      set(hash.slice(9));
      $("#findings").scrollIntoView();
      return;
    }
    if (hash.startsWith("rule-")) {
      const section = document.getElementById(hash);
      if (section) reveal(section);
    } else if (hash.startsWith("f-")) {
      toFinding(hash);
    } else {
      const part = hash && document.getElementById(hash);
      if (part && part.tagName === "DETAILS") part.open = true;
    }
  }

  function reveal(section) {
    if (section.hidden) set("");
    section.open = true;
    section.scrollIntoView();
  }

  function toFinding(id) {
    const d = load();
    if (!rowOf) rowOf = new Map(d.rows.map((row, i) => ["f-" + row[R.id], i]));
    const index = rowOf.get(id);
    if (index === undefined) return;
    const rule = d.rows[index][R.rule];
    if (visible && !visible[rule].includes(index)) set("");
    sections[rule].open = true;
    const at = rowsOf(rule).indexOf(index);
    if (!document.getElementById(id) || sections[rule].dataset.stale) fill(rule, PAGE, at < PAGE ? 0 : at);
    const item = document.getElementById(id);
    all(".here").forEach((other) => other.classList.remove("here"));
    item.classList.add("here");
    item.scrollIntoView({ block: "center" });
    requestAnimationFrame(() => requestAnimationFrame(() => item.scrollIntoView({ block: "center" }))); // heights were guesses until drawn
    $("a", item).focus({ preventScroll: true });
  }

  async function copy(text, what) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = element("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    $("#said").textContent = what;
  }

  function issue(section) {
    const d = load();
    const rule = Number(section.dataset.rule);
    const texts = (selector) => all(selector, section).map((node) => node.textContent.trim());
    const rows = rowsOf(rule);
    const tick = (text) => "`" + text.replace(/`/g, "'") + "`";
    const lines = ["## " + texts("summary h3")[0], "", ...texts(".reason").flatMap((text) => [text, ""])];
    const fix = [...texts(".with"), ...texts(".how")].join(": ");
    if (fix) lines.push("**" + say("do") + ":** " + fix, "");
    for (const i of rows.slice(0, 100)) lines.push("- [ ] " + tick(d.paths[d.rows[i][R.path]] + ":" + d.rows[i][R.line]) + " " + d.messages[d.rows[i][R.message]].replace(/[<>@\[\]|]/g, "\\$&"));
    if (rows.length > 100) lines.push("", many("inReport", rows.length - 100));
    lines.push("", say("sources") + " " + all(".src a", section).map((node) => node.href).join(" "), say("foundBy", { rule: tick(d.rules[rule]) }));
    return lines.join("\n");
  }

  // Tables of class sortable: the head of a column becomes a button, except where it says data-plain.
  function sortable(table) {
    const heads = all("thead th", table);
    const body = $("tbody", table);
    if (body.rows.length < 3) return;
    heads.forEach((head, column) => {
      if ("plain" in head.dataset) return;
      const button = element("button", "sort", head.textContent);
      button.type = "button";
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const numeric = head.classList.contains("r");
        const down = head.ariaSort ? head.ariaSort === "ascending" : numeric;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.ariaSort = down ? "descending" : "ascending";
        const key = (row) => { const cell = row.cells[column]; return numeric ? Number(cell.dataset.value || 0) : cell.textContent; };
        const order = (a, b) => (numeric ? a[0] - b[0] : a[0].localeCompare(b[0])) * (down ? -1 : 1);
        body.append(...[...body.rows].map((row) => [key(row), row]).sort(order).map((pair) => pair[1]));
        $("#said").textContent = say("sorted", { column: button.textContent });
      });
    });
  }

  function start() {
    all("table.sortable").forEach(sortable);
    const d = $("#data");
    if (!form || !d) return;
    form.hidden = false;
    all("button.issue, button.next").forEach((button) => { button.hidden = false; });
    $("#shown").textContent = $(".tile a[data-filter='']").textContent;
    let timer = 0;
    form.addEventListener("input", (event) => {
      clearTimeout(timer);
      timer = setTimeout(() => { apply(); remember(); }, event.target.type === "search" ? 150 : 0);
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    $("#clear").addEventListener("click", () => { set(""); remember(); });
    $("#open-all").addEventListener("click", (event) => {
      const open = sections.some((section) => !section.open && !section.hidden);
      sections.forEach((section) => { if (!section.hidden) section.open = open; });
      event.target.textContent = say(open ? "close" : "open");
    });
    sections.forEach((section, rule) => {
      section.addEventListener("toggle", () => { if (section.open && section.dataset.stale) fill(rule, PAGE); });
      $("button.next", section).addEventListener("click", () => fill(rule, $(".places", section).children.length + PAGE));
      $("button.first", section).addEventListener("click", () => fill(rule, PAGE, 0));
      $("button.issue", section).addEventListener("click", (event) => {
        copy(issue(section), say("copiedIssue"));
        event.target.textContent = say("copied");
        setTimeout(() => { event.target.textContent = say("copy"); }, 2000);
      });
    });
    document.addEventListener("click", (event) => {
      const link = event.target.closest("a[data-filter]");
      if (!link) return;
      event.preventDefault();
      const hash = "#findings?" + link.dataset.filter;
      if (location.hash === hash) follow();
      else location.hash = hash;
    });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
      event.preventDefault();
      $("#q").focus();
    });
    window.addEventListener("hashchange", follow);
    window.addEventListener("beforeprint", () => all("details.rule, details.sum").forEach((part) => { part.open = true; }));
    if (location.hash) follow();
  }

  start();
})();
