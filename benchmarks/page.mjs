// Measures one page in Chromium: node page.mjs FILE. Prints the cells of a row.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(new URL("../page/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

const paints = [];
const readies = [];
let page;
for (let run = 0; run < 5; run++) {
  page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  await page.goto(pathToFileURL(process.argv[2]).href);
  await page.waitForSelector("html[data-ready]", { state: "attached" });
  readies.push(await page.evaluate(() => performance.now()));
  paints.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Infinity));
  if (run < 4) await page.close();
}
await page.evaluate(() => { location.hash = "#sentences?all=1"; });
await page.waitForSelector(".virtual tbody tr:not(.spacer)");
const filters = await page.evaluate(async () => {
  const search = document.querySelector("input[type=search]");
  const times = [];
  for (const text of ["pizza", "pizza la", "", "card", "account 1", "zzz", "7", "late again", "", "doctor"]) {
    const begin = performance.now();
    search.value = text;
    search.dispatchEvent(new Event("input"));
    document.body.getBoundingClientRect(); // laid out
    times.push(performance.now() - begin);
  }
  return times;
});
const frames = await page.evaluate(async () => {
  const search = document.querySelector("input[type=search]");
  search.value = "";
  search.dispatchEvent(new Event("input"));
  const scroller = document.querySelector(".scroller");
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  await frame();
  const times = [];
  for (let step = 0; step < 60; step++) {
    const begin = performance.now();
    scroller.scrollTop += 400;
    await frame();
    times.push(performance.now() - begin);
  }
  return times;
});
await browser.close();
const ms = (value) => `${Math.round(value)} ms`;
console.log([ms(median(paints)), ms(median(readies)), ms(median(filters)), ms(Math.max(...frames))].join(" | "));
