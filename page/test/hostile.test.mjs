// Texts that mean something to a browser, everywhere in a report: on the page they are their own letters.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { opened } from "./browser.mjs";

const texts = JSON.parse(await readFile(`${process.env.PAGES}/hostile.json`, "utf-8"));
const ALLOWED = new Set("A ARTICLE ASIDE BDI BODY BUTTON CANVAS CAPTION CODE DD DETAILS DIALOG DIV DL DT EM FORM H1 H2 H3 HEAD HEADER HTML INPUT LABEL LI LINK MAIN MARK META NAV NOSCRIPT OL OPTION P PATH Q SCRIPT SECTION SELECT SPAN STRONG STYLE SUMMARY SVG TABLE TBODY TD TEMPLATE TEXT TH THEAD TITLE TR UL LINE".split(" "));

/** What the page shows for a text: escapes stand for what cannot be seen. */
const shown = (text) => text.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u2800\u3164]|(?! )\p{Zs}/gu, (one) => {
  if (one === "\n" || "\u200c\u200d".includes(one)) return one;
  const short = { "\t": "\\t", "\r": "\\r" }[one];
  const point = one.codePointAt(0);
  return short ?? (point > 0xffff ? `\\u{${point.toString(16)}}` : `\\u${point.toString(16).padStart(4, "0")}`);
});

async function onlyLetters(page) {
  const found = await page.evaluate(() => [...document.querySelectorAll("*")].map((one) => [one.tagName.toUpperCase(), one.getAttributeNames().filter((name) => /^on|^style$|^src/.test(name))]));
  for (const [tag, attributes] of found) {
    assert.ok(ALLOWED.has(tag), tag);
    if (!["SPAN", "TD", "DIV", "CANVAS"].includes(tag)) assert.deepEqual(attributes, [], tag);
    assert.ok(attributes.every((name) => name === "style"), `${tag} ${attributes}`); // widths and heights of ours
  }
  assert.equal(await page.evaluate(() => document.querySelectorAll("script").length), 1);
  assert.equal(await page.evaluate(() => globalThis.pwned), undefined);
  for (const address of await page.evaluate(() => [...document.querySelectorAll("a")].map((one) => one.getAttribute("href")))) {
    assert.match(address, /^(#|https:\/\/github\.com\/acme\/bots\/)/);
  }
}

test("the first screen", async () => {
  await opened("hostile", onlyLetters);
});

test("every sentence is what was written", async () => {
  await opened("hostile", async (page) => {
    await page.locator(".virtual tbody tr:not(.spacer)").first().waitFor();
    await onlyLetters(page);
    for (const option of await page.locator("option").allInnerTexts()) assert.doesNotMatch(option, /[\u200b\u202e\u2066\ufeff]/u);
    for (const text of texts.filter((one) => one.trim())) {
      const number = texts.indexOf(text);
      const found = await page.evaluate((wanted) => {
        const scroller = document.querySelector(".scroller");
        scroller.scrollTop = wanted * 40 - 100;
        return new Promise((done) => setTimeout(() => {
          const row = document.querySelector(`tr[aria-rowindex="${wanted + 2}"] th`);
          done(row && row.textContent);
        }, 40));
      }, number);
      assert.equal(found, shown(text), JSON.stringify(text));
    }
  }, { hash: "#sentences" });
});

test("transcripts, findings, intents and the details of a sentence", async () => {
  await opened("hostile", async (page) => {
    for (const hash of ["#conversations", "#data", "#intents", "#sentences"]) {
      await page.evaluate((to) => { location.hash = to; }, hash);
      await page.waitForTimeout(100);
      await page.evaluate(() => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
      await page.waitForTimeout(150);
      await onlyLetters(page);
    }
    await page.locator(".virtual th a").nth(3).click();
    await page.getByRole("dialog").waitFor();
    await onlyLetters(page);
  });
});

test("an address cannot smuggle anything in", async () => {
  for (const hash of ["#sentences?text=%3Cimg%20src%3Dx%20onerror%3Dpwned%3D1%3E&intent=%3Cscript%3E", "#%3Cscript%3Epwned=1%3C/script%3E", "#story-%22%5D%3Cb%3E", "#%E0%A4%A"]) {
    await opened("hostile", onlyLetters, { hash });
  }
});

test("a cell's neighbours and what the matrix says keep their directions", async () => {
  await opened("hostile", async (page) => {
    const wanted = texts.find((one) => one.startsWith("\u202e"));
    await page.evaluate((to) => { location.hash = to; }, `#intents?${new URLSearchParams({ expected: `i${wanted}`, got: `j${wanted}` })}`);
    await page.locator(".cell-sentences q").first().waitFor();
    await page.locator("canvas").focus();
    for (let press = 0; press < 60; press++) {
      await page.keyboard.press("ArrowDown");
      assert.doesNotMatch(await page.locator("#view").evaluate((one) => one.textContent), /[\u200b\u202e\u2066\ufeff\u3164]/u);
    }
  });
});
