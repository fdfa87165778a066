// Takes one picture of a page: node page_picture.mjs PAGE PICTURE ADDRESS SCHEME WIDTH HEIGHT SCALE (HEIGHT 0: all of it)

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const { chromium } = createRequire(new URL("../page/package.json", import.meta.url))("playwright-core");
const [page, picture, address, colorScheme, ...size] = process.argv.slice(2);
const [width, height, deviceScaleFactor] = size.map(Number);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
const tab = await browser.newPage({ viewport: { width, height: height || 100 }, deviceScaleFactor, colorScheme });
await tab.goto(pathToFileURL(page).href + address);
await tab.waitForSelector("html[data-ready]", { state: "attached" });
await tab.waitForTimeout(400); // the table and the canvas are drawn in the next frames
if (address.startsWith("#intents")) await tab.locator("#matrix-title").evaluate((title) => title.scrollIntoView());
await tab.screenshot({ path: picture, fullPage: !height });
await browser.close();
