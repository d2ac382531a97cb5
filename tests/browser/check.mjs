// Opens one rendered report in Chromium and prints what it saw as JSON: errors, accessibility violations, overflow, behaviour.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const require = createRequire(import.meta.url);
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
// mode: all, one (view), quick (behaviour only); russian: the same report in Russian; shots: a folder for pictures
const [file, chromiumPath, mode = "all", russian = "", shots = ""] = process.argv.slice(2);
const url = pathToFileURL(file).href;
const browser = await chromium.launch({
  executablePath: chromiumPath,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

async function open(options, address = url) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const errors = [];
  page.on("console", (message) => { if (message.type() === "error" || message.type() === "warning") errors.push(message.text()); });
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("request", (request) => { if (!/^(file|data):/.test(request.url())) errors.push("request: " + request.url()); });
  const begin = Date.now();
  await page.goto(address);
  return { context, page, errors, opened: Date.now() - begin };
}

async function until(page, holds, argument) { // the page's policy forbids the eval behind waitForFunction
  for (let i = 0; i < 250; i++) {
    if (await page.evaluate(holds, argument)) return;
    await new Promise((done) => setTimeout(done, 20));
  }
  throw new Error("did not come true: " + holds);
}

async function view(name, options) {
  const { context, page, errors } = await open(options);
  await page.evaluate(() => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
  await page.waitForTimeout(200);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  await page.evaluate(axe);
  const result = await page.evaluate((tags) => globalThis.axe.run({ runOnly: { type: "tag", values: tags } }), TAGS);
  const violations = result.violations.map((v) => `${v.id}: ${v.nodes.length} nodes, first ${v.nodes[0].html.slice(0, 160)} ${v.nodes[0].failureSummary}`);
  await context.close();
  return { name, errors, overflow, violations, checked: result.passes.length };
}

async function behaviour() {
  const { context, page, errors, opened } = await open({ viewport: { width: 1280, height: 900 } });
  const out = { opened };
  const paint = () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
  await until(page, paint);
  out.firstPaint = Math.round(await page.evaluate(paint));
  const shown = () => page.evaluate(() => document.querySelector("#shown")?.textContent ?? "");
  const ids = () => page.evaluate(() => [...document.querySelectorAll("details.rule:not([hidden])")].map((d) => d.id));
  if (await page.locator("#filters").isVisible()) {
    const began = Date.now();
    await page.selectOption("#f-severity", "blocker");
    await until(page, () => document.querySelector("#shown").textContent.includes(" of "));
    out.filterTime = Date.now() - began;
    out.blockers = await shown();
    const again = await page.evaluate(() => { // once the data is read: until the list stands, as the page itself sees it
      const field = document.querySelector("#f-confidence");
      const begin = performance.now();
      field.value = "high";
      field.dispatchEvent(new Event("input", { bubbles: true }));
      return new Promise((done) => setTimeout(() => requestAnimationFrame(() => { field.value = ""; done(performance.now() - begin); }), 0));
    });
    out.againTime = Math.round(again);
    out.blockerRules = await ids();
    out.blockerPlaces = await page.evaluate(() => document.querySelectorAll("details.rule:not([hidden]) .places > li").length);
    await page.click("#clear");
    await until(page, () => !document.querySelector("#shown").textContent.includes(" of "));
    out.cleared = await shown();
    await page.keyboard.press("Escape");
    await page.locator("h1").click();
    await page.keyboard.press("/");
    out.slashFocus = await page.evaluate(() => document.activeElement.id);
    const typed = Date.now();
    await page.fill("#q", "zzz-nothing-has-this");
    await until(page, () => /^0 of/.test(document.querySelector("#shown").textContent));
    out.searchTime = Date.now() - typed;
    out.nothing = await ids();
    await page.click(".tile a[data-filter='severity=blocker']");
    await until(page, () => document.querySelector("#f-severity").value === "blocker");
    out.linked = await shown();
    const last = await page.evaluate(() => { const rows = JSON.parse(document.querySelector("#data").textContent).rows; return "f-" + rows[rows.length - 1][1]; });
    await page.evaluate((id) => { location.hash = id; }, last);
    await until(page, (id) => document.getElementById(id)?.checkVisibility(), last);
    await page.waitForTimeout(700);
    out.permalink = await page.evaluate((id) => { const box = document.getElementById(id).getBoundingClientRect(); return box.top >= 0 && box.top < innerHeight; }, last);
    await page.evaluate(() => { navigator.clipboard.writeText = async (text) => { globalThis.copied = text; }; });
    await page.locator("details.rule[open]:not([hidden]) button.issue").first().click();
    out.issue = await page.evaluate(() => globalThis.copied);
  }
  out.longest = Math.round(await page.evaluate(() => new Promise((done) => {
    let longest = 0;
    const observer = new PerformanceObserver((list) => { for (const entry of list.getEntries()) longest = Math.max(longest, entry.duration); });
    observer.observe({ type: "longtask", buffered: true });
    setTimeout(() => done(longest), 50);
  })));
  out.errors = errors;
  await context.close();
  return out;
}

// What a reader does with the keys, with the heads of tables, with every filter, and on paper.
async function handling() {
  const { context, page, errors } = await open({ viewport: { width: 1280, height: 900 } });
  const out = { filters: {} };
  await page.keyboard.press("Tab");
  out.firstTab = await page.evaluate(() => document.activeElement.className);
  await page.keyboard.press("Enter");
  out.skippedTo = await page.evaluate(() => location.hash);
  const second = page.locator("details.rule > summary").nth(1);
  await second.focus();
  await page.keyboard.press("Enter");
  out.opened = await page.evaluate(() => document.querySelectorAll("details.rule")[1].open);
  for (const name of ["category", "confidence", "target", "directory", "state"]) {
    const value = await page.evaluate((id) => document.querySelector(id).options[1].value, "#f-" + name);
    await page.selectOption("#f-" + name, value);
    out.address = await page.evaluate(() => location.hash);
    out.filters[name] = value + ": " + (await page.evaluate(() => document.querySelector("#shown").textContent));
    await page.click("#clear");
  }
  await page.evaluate(() => document.querySelectorAll("details.sum").forEach((part) => { part.open = true; }));
  const table = page.locator("details.sum table.sortable:has(button.sort)").first();
  const column = () => table.locator("tbody tr td:nth-child(3)").allTextContents();
  const head = table.locator("th button.sort").last();
  await head.click();
  out.falling = await column();
  await head.focus();
  await page.keyboard.press("Enter");
  out.rising = await column();
  out.sorted = await table.locator("th[aria-sort]").getAttribute("aria-sort");
  await page.emulateMedia({ media: "print" });
  out.print = await page.evaluate(() => ({
    nav: document.querySelector("nav").checkVisibility(),
    closed: document.querySelector("details.rule:not([open]) .reason").checkVisibility({ contentVisibilityAuto: true }),
    heads: document.querySelector("#plan th button.sort")?.checkVisibility(),
  }));
  await page.emulateMedia({ media: null });
  for (const format of ["A4", "Letter"]) {
    const pdf = (await page.pdf({ format })).toString("latin1");
    out[format] = { pages: (pdf.match(/\/Type \/Page\b/g) ?? []).length, box: (/\/MediaBox \[([\d. ]+)\]/.exec(pdf) ?? [])[1] };
  }
  out.errors = errors;
  await context.close();
  return out;
}

async function inRussian() {
  const { context, page, errors } = await open({ viewport: { width: 390, height: 844 } }, pathToFileURL(russian).href);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  await page.selectOption("#f-severity", "blocker");
  await until(page, () => document.querySelector("#shown").textContent.includes(" из "));
  const out = { shown: await page.evaluate(() => document.querySelector("#shown").textContent), overflow, errors };
  out.places = await page.evaluate(() => document.querySelector("details.rule:not([hidden]) .howmany").textContent);
  await context.close();
  return out;
}

async function withoutScripts() {
  const { context, page } = await open({ javaScriptEnabled: false });
  const text = await page.evaluate(() => document.querySelector("main").textContent.replace(/\s+/g, " "));
  const form = await page.locator("#filters").count() ? await page.locator("#filters").isVisible() : false;
  const buttons = await page.locator("button:visible").count();
  await context.close();
  return { text: text.slice(0, 50000), form, buttons };
}

const views = [];
for (const [name, options] of [
  ["light", { viewport: { width: 1280, height: 900 } }],
  ["dark", { viewport: { width: 1280, height: 900 }, colorScheme: "dark" }],
  ["phone", { viewport: { width: 390, height: 844 } }],
  ["narrow dark", { viewport: { width: 360, height: 740 }, colorScheme: "dark" }],
]) if (mode === "all" || (mode === "one" && name === "narrow dark")) views.push(await view(name, options));
const result = { views, behaviour: await behaviour(), plain: mode === "all" ? await withoutScripts() : null };
if (mode === "all") result.handling = await handling();
if (russian) result.russian = await inRussian();
if (shots) {
  for (const [name, options, height] of [["light", { viewport: { width: 1280, height: 900 } }], ["dark", { viewport: { width: 1280, height: 900 }, colorScheme: "dark" }], ["phone", { viewport: { width: 390, height: 844 } }]]) {
    const { context, page } = await open(options);
    await page.screenshot({ path: `${shots}/${name}.png`, fullPage: true });
    if (name === "light") await page.pdf({ path: `${shots}/print.pdf`, format: "A4" });
    await context.close();
  }
}
await browser.close();
console.log(JSON.stringify(result));
