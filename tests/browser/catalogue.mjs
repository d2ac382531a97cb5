// Opens the catalogue page in Chromium and prints what it saw as JSON: errors, accessibility violations, overflow, and what the filters do.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const require = createRequire(import.meta.url);
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
const [file, executablePath, words] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--no-first-run"] });

async function open(options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const errors = [];
  page.on("console", (message) => { if (message.type() === "error" || message.type() === "warning") errors.push(message.text()); });
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("request", (request) => { if (!/^(file|data):/.test(request.url())) errors.push("request: " + request.url()); });
  await page.goto(pathToFileURL(file).href);
  return { context, page, errors };
}

const views = [];
for (const [name, options] of [
  ["light", { viewport: { width: 1280, height: 900 } }],
  ["narrow dark", { viewport: { width: 360, height: 780 }, colorScheme: "dark" }],
]) {
  const { context, page, errors } = await open(options);
  await page.evaluate(() => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  await page.evaluate(axe);
  const result = await page.evaluate((tags) => globalThis.axe.run({ runOnly: { type: "tag", values: tags } }), TAGS);
  const violations = result.violations.map((v) => `${v.id}: ${v.nodes.length} nodes, first ${v.nodes[0].html.slice(0, 160)}`);
  await context.close();
  views.push({ name, errors, overflow, violations, checked: result.passes.length });
}

const { context, page, errors } = await open({ viewport: { width: 1280, height: 900 } });
const ids = () => page.evaluate(() => [...document.querySelectorAll("details.rule")].filter((d) => d.offsetParent !== null).map((d) => d.id));
const all = (await ids()).length;
await page.fill("#q", words);
await page.waitForTimeout(300);
const found = await ids();
const shown = await page.textContent("#shown");
await page.click("#clear");
await page.waitForTimeout(300);
const cleared = (await ids()).length;
await page.keyboard.press("Tab");
await context.close();
await browser.close();
console.log(JSON.stringify({ views, all, found, shown, cleared, errors }));
