// Opening the example pages in Chromium, and what must hold whatever a test does: no request, no error.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { after } from "node:test";
import { chromium } from "playwright-core";

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--disable-dev-shm-usage"], // containers, and their small /dev/shm
});
after(() => browser.close());

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf-8");

const windows = new Map();

/** A window of this kind that shows nothing yet; one whose test has failed is not used again. */
async function free(kind) {
  const page = windows.get(JSON.stringify(kind)) ?? await (await browser.newContext(kind)).newPage();
  windows.delete(JSON.stringify(kind));
  await page.goto("about:blank");
  return page;
}

/** Open an example page and give it to `use`; fail on any request, console message or error that it makes. */
export async function opened(name, use, { hash = "", width = 1600, scheme = "light", script = true } = {}) {
  const kind = { viewport: { width, height: 900 }, colorScheme: scheme, javaScriptEnabled: script };
  const page = await free(kind);
  const trouble = [];
  const address = pathToFileURL(`${process.env.PAGES}/${name}.html`).href;
  page.on("request", (request) => {
    if (request.url().split("#")[0] !== address && request.url() !== "data:,") trouble.push(`requests ${request.url()}`);
  });
  page.on("console", (message) => trouble.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => trouble.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    trouble.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(address + hash);
  if (script) await page.waitForSelector("html[data-ready]", { state: "attached" });
  await use(page);
  assert.deepEqual(trouble, []);
  for (const event of ["request", "console", "pageerror", "dialog"]) page.removeAllListeners(event);
  await page.emulateMedia({ media: null });
  windows.set(JSON.stringify(kind), page);
}

/** Check until it holds: focus, addresses and dialogs follow what was pressed in tasks of their own. */
export async function eventually(check, milliseconds = 10_000) {
  const end = Date.now() + milliseconds;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((done) => setTimeout(done, 50));
    }
  }
}

/** What axe-core finds wrong with the page as it is now. */
export async function violations(page) {
  if (await page.evaluate(() => !("axe" in window))) await page.evaluate(axe);
  const options = { resultTypes: ["violations"], elementRef: false, preload: false, selectors: false };
  const found = await page.evaluate((options) => window.axe.run(document, options), options);
  return found.violations.flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.html.slice(0, 160)} ${node.any.map((check) => check.message).join("; ")}`));
}

/** How far the page is wider than the window. */
export function overflow(page) {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}
