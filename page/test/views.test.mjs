// Every view on the examples, in both schemes and on a wide and a narrow window.

import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually, opened, overflow, violations } from "./browser.mjs";

const VIEWS = ["", "#intents", "#sentences", "#conversations", "#data"];

for (const [width, scheme] of [[1600, "light"], [1600, "dark"], [360, "light"], [360, "dark"]]) {
  test(`each view at ${width} px, ${scheme}: axe finds nothing, and nothing hangs over the edge`, async () => {
    await opened("bank", async (page) => {
      for (const hash of VIEWS) {
        await page.evaluate((to) => { location.hash = to; }, hash);
        await page.waitForTimeout(120);
        assert.deepEqual(await violations(page), [], `${hash} at ${width}, ${scheme}`);
        assert.equal(await overflow(page), 0, `${hash} at ${width}`);
      }
    }, { width, scheme });
  });
}

test("long names and several assistants are as accessible on a phone, and nothing is cut off", async () => {
  for (const [name, views] of [["hostile", ["", "#intents"]], ["several", ["", "#at-bank/intents?all=1"]], ["named", [""]]]) {
    await opened(name, async (page) => {
      for (const hash of views) {
        await page.evaluate((to) => { location.hash = to; }, hash);
        await page.waitForTimeout(120);
        assert.deepEqual(await violations(page), [], `${name}${hash}`);
        assert.equal(await overflow(page), 0, `${name}${hash}`);
      }
    }, { width: 360 });
  }
  await opened("named", async (page) => {
    const cut = await page.evaluate(() => [...document.querySelectorAll("#all .scroll")].map((one) => one.scrollWidth - one.clientWidth));
    assert.deepEqual(cut, [0]);
    assert.deepEqual(await page.locator("#all th a").allInnerTexts(), ["bank", "twin (1)", "twin (2)"]);
  }, { width: 360 });
});

test("figures and confusions of intents are seen whole on a phone, whatever the names", async () => {
  for (const [name, hash] of [["bank", "#intents?all=1"], ["hostile", "#intents?all=1"], ["confused", "#intents"]]) {
    await opened(name, async (page) => {
      const cut = () => page.evaluate(() => [...document.querySelectorAll(".figures .scroll, .pairs .scroll")].map((one) => one.scrollWidth - one.clientWidth));
      await eventually(async () => assert.deepEqual(await cut(), [0, 0], name));
      assert.ok(await page.locator(".figures tbody td:nth-child(5)").first().isVisible(), name);
    }, { hash, width: 360 });
  }
});

test("all that unfolds is as accessible", async () => {
  await opened("bank", async (page) => {
    for (const hash of ["#intents?all=1", "#conversations?all=1", "#data?all=1", "#sentences?all=1"]) {
      await page.evaluate((to) => { location.hash = to; }, hash);
      await page.waitForTimeout(120);
      await page.evaluate(() => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
      await page.waitForTimeout(150);
      await page.evaluate(() => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
      await page.waitForTimeout(150);
      assert.deepEqual(await violations(page), [], hash);
    }
  });
});

test("the overview of several assistants, and the way in and back", async () => {
  await opened("several", async (page) => {
    assert.deepEqual(await violations(page), []);
    assert.equal(await page.locator("h1:visible").count(), 1);
    await page.getByRole("link", { name: "bank" }).click();
    await eventually(async () => assert.match(await page.locator("h1:visible").innerText(), /bank/));
    await page.getByRole("navigation").getByRole("link", { name: "conversations" }).click();
    await eventually(async () => assert.match(page.url(), /#at-bank\/conversations$/));
    await page.getByRole("link", { name: "All assistants" }).click();
    await eventually(async () => assert.equal(await page.locator("h1:visible").innerText(), "Assistants"));
  });
});

test("without JavaScript the first screen reads as it is", async () => {
  await opened("bank", async (page) => {
    const body = await page.locator("main").innerText();
    for (const told of ["Failed: bank", "real drop", "now collide", "check the balance"]) assert.ok(body.includes(told), told);
    assert.ok(!(await page.locator(".show").first().isVisible()));
    assert.match(await page.locator("noscript").innerText(), /need JavaScript/);
    assert.equal(await overflow(page), 0);
  }, { script: false, width: 360 });
});

test("on paper everything is unfolded, rows need no scrolling, and dark ink is on light paper", async () => {
  await opened("bank", async (page) => {
    await page.emulateMedia({ media: "print" });
    assert.ok((await page.locator("details:not([open]) li").first().boundingBox()).height > 0);
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
  }, { scheme: "dark" });
  await opened("long", async (page) => {
    const rows = page.locator(".virtual tbody tr:not(.spacer)");
    await page.emulateMedia({ media: "print" });
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    assert.equal(await rows.count(), 1000);
    assert.equal(await page.locator(".on-paper").innerText(), "… and 200 more");
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    assert.ok(await rows.count() < 100);
  }, { hash: "#sentences" });
});

test("on paper nothing is left that only a screen can do", async () => {
  await opened("bank", async (page) => {
    await page.emulateMedia({ media: "print" });
    assert.ok(!(await page.locator("nav").isVisible()));
    assert.ok(await page.locator("h1:visible").isVisible());
  });
});

test("on paper a conversation that fails has its transcript", async () => {
  await opened("several", async (page) => {
    await page.getByLabel("only what changed").uncheck();
    const transcripts = page.locator(".conversation:not([open]) .transcript");
    assert.equal(await transcripts.count(), 0);
    await page.emulateMedia({ media: "print" });
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    assert.ok(await transcripts.count() >= 2);
    assert.match(await transcripts.first().innerText(), /first difference/i);
  }, { hash: "#at-bank/conversations" });
});
