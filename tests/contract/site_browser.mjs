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

async function opened(name, width, colorScheme, use) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
  const page = await context.newPage();
  const note = (text) => wrong.push(`${name} at ${width} px: ${text}`);
  page.on("request", (request) => {
    if (!request.url().startsWith(site) && !/^(data|blob):/.test(request.url())) note(`requests ${request.url()}`);
  });
  page.on("pageerror", (error) => note(`error: ${error.message}`));
  await page.goto(`${site}${name}`);
  await use(page, note);
  await context.close();
}

async function looked(page, note) {
  const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (over > 0) note(`${over} px wider than the window`);
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  for (const one of found.violations) {
    for (const node of one.nodes) note(`${one.id}: ${node.html.slice(0, 160)} ${node.any.map((check) => check.message).join("; ")}`);
  }
}

// Every page once, by turns on a telephone in the dark scheme and on a desk; the first screens that people see on both.
const seen = ["index.html", "start.html", "gates.html"];
const turns = pages.map((name, index) => [name, index % 2 ? 360 : 1440]);
const visits = [...turns, ...turns.filter(([name]) => seen.includes(name)).map(([name, width]) => [name, 1800 - width])];
const next = async () => {
  for (let visit = visits.pop(); visit; visit = visits.pop()) {
    await opened(visit[0], visit[1], visit[1] === 360 ? "dark" : "light", looked);
  }
};
await Promise.all([next(), next()]);
await opened("index.html", 1440, "light", async (page, note) => {
  await page.locator("input[name=query]").fill("misunderstood");
  const results = page.locator(".md-search-result__link");
  await results.first().waitFor({ timeout: 20_000 }).catch(() => note("search finds nothing"));
});
await browser.close();
console.log(wrong.join("\n"));
