// Opens the pages of the documentation site in Chromium: axe finds nothing, nothing hangs over the edge, search answers.
// node site_browser.mjs ADDRESS PAGE... ; prints what is wrong, a line each.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const require = createRequire(new URL("../../page/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const axe = await readFile(require.resolve("axe-core/axe.min.js"), "utf-8");
const [site, ...pages] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
const wrong = [];

// A telephone in the dark scheme, or a desk in the light one: a window that opens one page after the other.
async function opened(width, names, use) {
  const colorScheme = width < 1000 ? "dark" : "light";
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
  const page = await context.newPage();
  let note = () => {};
  page.on("request", (request) => {
    if (!request.url().startsWith(site) && !/^(data|blob):/.test(request.url())) note(`requests ${request.url()}`);
  });
  page.on("pageerror", (error) => note(`error: ${error.message}`));
  if (use === searched) await page.addInitScript(withIndexAwaited);
  if (use === looked) await page.route("**/search_index.json", withOnePage);
  for (const name of names) {
    note = (text) => wrong.push(`${name} at ${width} px: ${text}`);
    await page.goto(`${site}${name}`);
    await use(page, note);
  }
  await page.unrouteAll({ behavior: "ignoreErrors" }); // an index may still be on its way, which nobody waits for
  await context.close();
}

// The theme makes its index anew on each page; who only looks needs no more than that there is one.
async function withOnePage(route) {
  const index = await (await route.fetch()).json();
  await route.fulfill({ json: { ...index, docs: index.docs.slice(0, 1) } });
}

// Of rows, entries and blocks in one place that are made of the same elements and classes, axe is shown the first alone:
// it judges how they are made, and a table of findings has a thousand that are made alike. Headings stay, for their order.
function withoutRepetitions() {
  const made = (node) => {
    if (node.nodeType !== Node.ELEMENT_NODE) return node.nodeType === Node.TEXT_NODE && node.data.trim() ? "text" : "";
    const attributes = [...node.attributes].map(({ name, value }) => (/^(id|for|href|name|src|title|alt)$/.test(name) ? `${name}:${value !== ""}` : `${name}=${value}`));
    return `<${node.tagName} ${attributes.sort().join(" ")}>${[...node.childNodes].map(made).join("")}</>`;
  };
  for (const place of document.querySelectorAll("tbody, ul, article")) {
    const seen = new Set();
    for (const child of [...place.children]) {
      const shape = made(child);
      if (seen.has(shape) && !/^H\d$/.test(child.tagName)) child.remove();
      seen.add(shape);
    }
  }
}

async function looked(page, note) {
  const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (over > 0) note(`${over} px wider than the window`);
  await page.evaluate(withoutRepetitions);
  await page.evaluate(axe);
  const options = { resultTypes: ["violations"], elementRef: false, preload: false, selectors: false };
  const found = await page.evaluate((options) => window.axe.run(document, options), options);
  for (const one of found.violations) {
    for (const node of one.nodes) note(`${one.id}: ${node.html.slice(0, 160)} ${node.any.map((check) => check.message).join("; ")}`);
  }
}

// What is typed before the index is there is lost: the theme's worker says when it is, by a message of type 1.
function withIndexAwaited() {
  window.indexed = new Promise((resolve) => {
    window.Worker = class extends window.Worker {
      constructor(...options) {
        super(...options);
        this.addEventListener("message", ({ data }) => data.type === 1 && resolve());
      }
    };
  });
}

async function searched(page, note) {
  await page.evaluate(() => window.indexed);
  await page.locator("input[name=query]").pressSequentially("misunderstood"); // the theme listens to keys
  await page
    .locator(".md-search-result__link")
    .first()
    .waitFor({ timeout: 120_000 })
    .catch(() => note("search finds nothing"));
}

// Every page once, by turns on both; on both those that people see first.
const both = ["index.html", "start.html", "gates.html"];
const at = (turn) => pages.filter((name, index) => both.includes(name) || index % 2 === turn);
await Promise.all([opened(360, at(0), looked), opened(1440, at(1), looked).then(() => opened(1440, ["index.html"], searched))]);
await browser.close();
console.log(wrong.join("\n"));
