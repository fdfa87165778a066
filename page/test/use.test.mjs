// What a person does with the page: filters, addresses, the keyboard alone.

import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually, opened, violations } from "./browser.mjs";

const rows = (page) => page.locator(".virtual tbody tr:not(.spacer)");
const told = (page) => page.locator("p.told").innerText();

test("only what changed is on at first, and a switch shows everything", async () => {
  await opened("bank", async (page) => {
    await eventually(async () => assert.match(await told(page), /^10 of 48 sentences, only what changed/));
    await page.getByLabel("only what changed").uncheck();
    await eventually(async () => assert.match(await told(page), /^48 of 48 sentences$/));
    await eventually(async () => assert.match(page.url(), /[?&]all=1/));
    await page.reload();
    await eventually(async () => assert.match(await told(page), /^48 of 48/));
  }, { hash: "#sentences" });
});

test("every row is as high as the table reckons with, whatever is in it, and its last is the last sentence", async () => {
  for (const width of [1600, 1200, 360]) {
    await opened("long", async (page) => {
      await eventually(async () => assert.match(await told(page), /^1,200 of 1,200 sentences$/));
      const measured = () => page.evaluate(() => {
        const row = parseFloat(getComputedStyle(document.querySelector(".scroller")).getPropertyValue("--row"));
        return [...document.querySelectorAll(".virtual tbody tr:not(.spacer)")].map((one) => Math.round(one.getBoundingClientRect().height - row)).filter(Boolean);
      });
      assert.deepEqual(await measured(), [], `at ${width}`);
      const flag = page.locator(".result .flag").first();
      assert.ok(await flag.evaluate((one) => {
        const [box, cell] = [one.getBoundingClientRect(), one.closest("td").getBoundingClientRect()];
        return box.right <= cell.right && box.bottom <= cell.bottom + 1 && document.elementFromPoint(box.x + 5, box.y + 5) === one;
      }), `entities are told to be wrong at ${width}`);
      await page.evaluate(() => { const scroller = document.querySelector(".scroller"); scroller.scrollTop = scroller.scrollHeight; });
      await eventually(async () => assert.match(await rows(page).last().innerText(), /surer than sure/));
      assert.deepEqual(await measured(), []);
    }, { hash: "#sentences", width });
  }
});

test("the row with the focus keeps it, and its place, while the table scrolls", async () => {
  await opened("long", async (page) => {
    const scroll = (to) => page.evaluate((top) => { document.querySelector(".scroller").scrollTop = top; }, to);
    const inOrder = () => page.evaluate(() => [...document.querySelectorAll(".virtual tbody tr:not(.spacer)")].map((one) => Number(one.getAttribute("aria-rowindex"))));
    await rows(page).nth(3).getByRole("link").first().focus();
    for (const to of [20_000, 40_000, 5_000, 0]) {
      await scroll(to);
      await page.waitForTimeout(80);
      const listed = await inOrder();
      assert.deepEqual(listed, [...listed].sort((a, b) => a - b), `at ${to}`);
      assert.ok(listed.includes(5), "the focus is there");
      assert.equal(await page.evaluate(() => document.activeElement.closest("tr")?.getAttribute("aria-rowindex")), "5");
      assert.equal(await page.evaluate(() => document.querySelector(".virtual tbody").scrollHeight), 1200 * 40);
    }
  }, { hash: "#sentences" });
});

test("entities that overlap are all shown", async () => {
  await opened("long", async (page) => {
    await rows(page).first().getByRole("link").first().click();
    const entities = page.getByRole("dialog").locator(".with-entities");
    await eventually(async () => assert.deepEqual(await entities.first().locator(".entity").allInnerTexts(), ["carthing"]));
    assert.deepEqual((await entities.last().locator(".entity").allInnerTexts()).sort(), ["carthing", "carvehicle", "my carwhole"]);
  }, { hash: "#sentences" });
});

test("filters choose, and stand in the address", async () => {
  await opened("bank", async (page) => {
    await page.getByLabel("search").fill("BALANCE");
    await page.getByLabel("expected").selectOption("check_balance");
    await page.getByLabel("outcome").selectOption("wrong");
    await eventually(async () => assert.match(await told(page), /^3 of 48 sentences/));
    assert.deepEqual((await rows(page).locator("th").allInnerTexts()).map((text) => text.trim()), ["what is my balance", "what is my balance now", "what is my balance thanks"]);
    const address = new URL(page.url()).hash;
    for (const part of ["text=BALANCE", "intent=check_balance", "outcome=wrong"]) assert.ok(address.includes(part), address);
    await page.reload();
    await eventually(async () => assert.match(await told(page), /^3 of 48 sentences/));
    assert.equal(await page.getByLabel("search").inputValue(), "BALANCE");
    await page.getByLabel("confidence from").fill("0.9");
    await eventually(async () => assert.match(await told(page), /^0 of 48/));
    await page.getByRole("link", { name: "Clear filters" }).click();
    await eventually(async () => assert.match(await told(page), /^10 of 48/));
  }, { hash: "#sentences" });
});

test("a sentence of the first screen opens with its neighbours, and Escape leads back", async () => {
  await opened("bank", async (page) => {
    await page.getByText("Newly misclassified sentences").click();
    await page.getByRole("listitem").filter({ hasText: /^what is my balance: expected/ }).getByRole("link", { name: "show" }).click();
    const dialog = page.getByRole("dialog");
    assert.match(await dialog.innerText(), /newly wrong, was check_balance/);
    assert.match(await dialog.innerText(), /how much can I move to my savings/);
    assert.equal(await dialog.getByRole("link", { name: /bots\/bank\/data\/nlu.yml:9/ }).getAttribute("href"), `https://github.com/acme/bots/blob/${"2".repeat(40)}/bots/bank/data/nlu.yml#L9`);
    await eventually(async () => assert.match(page.url(), /#sentence-[0-9a-f]{12}$/));
    assert.deepEqual(await violations(page), []);
    const address = page.url();
    await page.keyboard.press("Escape");
    await eventually(async () => assert.equal(await dialog.count(), 0));
    await page.goBack();
    await page.goto("about:blank");
    await page.goto(address);
    assert.match(await page.getByRole("dialog").innerText(), /what is my balance/);
  });
});

test("entities are shown in their sentence, expected beside found", async () => {
  await opened("bank", async (page) => {
    await page.getByLabel("search").fill("send 20 euros to Anna now");
    await rows(page).getByRole("link").first().click();
    const found = page.getByRole("dialog").locator(".entity");
    await eventually(async () => assert.deepEqual(await found.allInnerTexts(), ["20 eurosamount", "20 eurosamount"]));
  }, { hash: "#sentences?all=1" });
});

test("an address of a story unfolds it at its first difference, beside the base", async () => {
  await opened("bank", async (page) => {
    const key = await page.evaluate(() => document.querySelector('a.show[href^="#story-"]').getAttribute("href"));
    await page.evaluate((to) => { location.hash = to; }, key);
    const open = page.locator("details.conversation[open]").filter({ hasText: "check the balance" });
    await open.locator(".first").waitFor();
    assert.match(await open.innerText(), /on the base: ✓ passed/);
    assert.match(await open.locator(".first").innerText(), /expected\s+utter_balance[\s\S]*got\s+utter_ask_amount/i);
    const sides = open.locator(".beside > .side");
    assert.deepEqual(await sides.locator(".side-title").allInnerTexts(), ["base", "now"]);
    await eventually(async () => assert.match(await sides.first().innerText(), /utter_balance/));
    assert.doesNotMatch(await sides.first().innerText(), /utter_ask_amount|first difference/);
    await eventually(async () => assert.match(await sides.last().innerText(), /first difference/i));
    await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.tagName), "SUMMARY"));
  });
});

test("a case that is not in the report is said to be so", async () => {
  for (const hash of ["#sentence-000000000000", "#story-000000000000"]) {
    await opened("bank", async (page) => {
      await page.getByRole("status").waitFor();
      assert.match(await page.getByRole("status").innerText(), /is not in this report/);
    }, { hash });
  }
});

test("the matrix by keys alone: move, hear, list the sentences", async () => {
  await opened("bank", async (page) => {
    await page.locator("canvas").focus();
    const cell = page.locator(".told-cell");
    for (let step = 0; step < 6 && !/: 9 now/.test(await cell.innerText()); step++) {
      await page.keyboard.press(step % 2 ? "ArrowDown" : "ArrowRight");
      if (!/: 9 now/.test(await cell.innerText())) await page.keyboard.press(step % 2 ? "ArrowLeft" : "ArrowUp");
    }
    assert.match(await cell.innerText(), /expected check_balance, got transfer_money: 9 now, 0 on the base \(\+9\)/);
    await page.keyboard.press("Enter");
    assert.match(await page.locator(".cell-sentences").innerText(), /9 sentences[\s\S]*how much can I move to my savings/);
    assert.deepEqual(await violations(page), []);
  }, { hash: "#intents?all=1" });
});

test("the change of an intent is what the first screen says", async () => {
  await opened("bank", async (page) => {
    const change = (where) => page.locator(where).getByRole("row").filter({ hasText: "transfer_money" }).first().locator(".change").innerText();
    const told = await change("article");
    assert.match(told, /^−0\.230 ▼ real drop$/);
    await page.getByRole("link", { name: "intents", exact: true }).click();
    assert.equal(await change("#view"), told);
  });
});

test("a thousand confused intents are no fault of the matrix", async () => {
  await opened("confused", async (page) => {
    await page.locator("canvas").focus();
    await page.keyboard.press("ArrowRight");
    await eventually(async () => assert.match(await page.locator(".matrix .told-cell").innerText(), /expected/));
    assert.match(await page.locator("#view").innerText(), /The first 500 of 1,000 intents/);
  }, { hash: "#intents" });
});

test("the matrix as a table, the base and the difference, all intents", async () => {
  await opened("bank", async (page) => {
    await page.getByRole("button", { name: "difference" }).click();
    await page.getByRole("button", { name: /^all \d+/ }).click();
    await page.getByText("The matrix as a table").click();
    const table = page.locator(".plain-matrix");
    await table.waitFor();
    assert.match(await table.innerText(), /\+9/);
    assert.match(await table.innerText(), /−1/);
  }, { hash: "#intents?all=1" });
});

test("columns sort by keyboard, and the address keeps it", async () => {
  await opened("bank", async (page) => {
    await page.getByRole("button", { name: "support" }).focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    await eventually(async () => assert.equal(await page.locator("th[aria-sort]").first().getAttribute("aria-sort"), "descending"));
    await eventually(async () => assert.match(page.url(), /sort=-support/));
    await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.textContent.trim().split(" ")[0]), "support"));
  }, { hash: "#intents?all=1" });
});

test("Tab reaches the content, the views and the switch in this order", async () => {
  await opened("bank", async (page) => {
    const names = [];
    for (let press = 0; press < 7; press++) {
      await page.keyboard.press("Tab");
      names.push(await page.evaluate(() => document.activeElement.textContent.trim() || document.activeElement.id));
    }
    assert.deepEqual(names, ["Skip to the content", "overview", "intents", "sentences", "conversations", "data", "only-changed"]);
    await page.getByRole("link", { name: "data", exact: true }).focus();
    await page.keyboard.press("Enter");
    await eventually(async () => assert.equal(await page.locator("h1:visible").innerText(), "Data"));
    await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.id), "main"));
  });
});

test("the threshold's slider says what the verdicts would be", async () => {
  await opened("bank", async (page) => {
    await page.getByText("Fallback threshold").click();
    const slider = page.getByRole("slider");
    await slider.fill("0.8");
    assert.match(await page.locator(".threshold .told-cell").innerText(), /At 0.80: 0 right, 0 wrong, 48 not understood/);
    await slider.focus();
    for (let press = 0; press < 10; press++) await page.keyboard.press("ArrowLeft");
    assert.match(await page.locator(".threshold .told-cell").innerText(), /At 0.70: 39 right, 9 wrong, 0 not understood, 81.3 %/);
  }, { hash: "#sentences?all=1" });
});

test("findings come with the manual's text, by code and by file", async () => {
  await opened("bank", async (page) => {
    assert.match(await page.locator(".group").innerText(), /missing-response[\s\S]*Define it\./);
    await page.getByRole("button", { name: "by file" }).click();
    await eventually(async () => assert.match(await page.locator(".group").first().innerText(), /bots\/bank\/domain.yml/));
    await page.getByLabel("only what changed").uncheck();
    await page.locator("summary", { hasText: "responses" }).click();
    assert.match(await page.locator("#view").innerText(), /utter_fees/);
  }, { hash: "#data" });
});

test("of a long list the first are shown, and a button shows the others", async () => {
  await opened("found", async (page) => {
    const button = (what) => page.getByRole("button", { name: `Show ${what}` });
    const lists = { ".group": "3 more findings", ".coverage-missed": "1 more part" };
    for (const [part, what] of Object.entries(lists)) {
      const entries = page.locator(`${part} .entries > li`);
      await page.locator(part).first().evaluate((one) => { one.open = true; });
      await eventually(async () => assert.equal(await entries.count(), 200));
      await button(what).focus();
      await page.keyboard.press("Enter");
      await eventually(async () => assert.equal(await entries.count(), 200 + Number(what[0])));
      assert.equal(await button(what).count(), 0);
    }
  }, { hash: "#data?all=1" });
});

test("the matrix, its cell, the pairs and their order stand in the address", async () => {
  await opened("bank", async (page) => {
    await page.getByRole("button", { name: "difference" }).click();
    await page.getByRole("button", { name: /^all \d+/ }).click();
    await page.getByRole("button", { name: "times" }).click();
    await page.locator("canvas").focus();
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    const listed = await page.locator(".cell-sentences").innerText();
    for (const part of ["side=difference", "matrix=all", "pairs=times", "expected=", "got=", "all=1"]) {
      await eventually(async () => assert.ok(page.url().includes(part), page.url()));
    }
    await page.reload();
    await eventually(async () => assert.equal(await page.getByRole("button", { name: "difference" }).getAttribute("aria-pressed"), "true"));
    assert.equal(await page.getByRole("button", { name: /^all \d+/ }).getAttribute("aria-pressed"), "true");
    assert.equal(await page.locator(".cell-sentences").innerText(), listed);
    assert.equal(await page.locator("th[aria-sort]").last().innerText(), "times ▲");
    await page.getByRole("button", { name: "now" }).click();
    await eventually(async () => assert.doesNotMatch(page.url(), /side=/));
  }, { hash: "#intents?all=1" });
});

test("the threshold and the grouping of findings stand in the address", async () => {
  await opened("bank", async (page) => {
    await page.getByText("Fallback threshold").click();
    await page.getByRole("slider").focus();
    await page.getByRole("slider").fill("0.8");
    await eventually(async () => assert.match(page.url(), /at=0\.8\b/));
    await page.getByLabel("search").fill("balance");
    await eventually(async () => assert.match(page.url(), /at=0\.8.*text=balance/));
    await page.reload();
    assert.match(await page.locator(".threshold .told-cell").innerText(), /^At 0.80: /);
    await page.getByRole("link", { name: "data", exact: true }).click();
    await page.getByRole("button", { name: "by file" }).click();
    await eventually(async () => assert.match(page.url(), /#data\?.*by=file/));
    await page.reload();
    await eventually(async () => assert.match(await page.locator(".group").first().innerText(), /bots\/bank\/domain.yml/));
  }, { hash: "#sentences?all=1" });
});

test("a sentence opens over the filtered table, which keeps filters and place when it is closed", async () => {
  await opened("long", async (page) => {
    await page.getByLabel("search").fill("one");
    await eventually(async () => assert.match(await told(page), /^800 of 1,200/));
    await page.evaluate(() => { document.querySelector(".scroller").scrollTop = 12_000; });
    await page.waitForTimeout(100);
    const row = page.locator('tr[aria-rowindex="304"] a').first();
    await row.click();
    await page.getByRole("dialog").waitFor();
    assert.match(page.url(), /#sentence-[0-9a-f]{12}\?text=one$/);
    const address = page.url();
    await page.keyboard.press("Escape");
    await eventually(async () => assert.match(page.url(), /#sentences\?text=one$/));
    assert.equal(await page.evaluate(() => document.querySelector(".scroller").scrollTop), 12_000);
    await row.click();
    await page.getByRole("dialog").waitFor();
    await page.goBack();
    await eventually(async () => assert.equal(await page.getByRole("dialog").count(), 0));
    assert.match(await told(page), /^800 of 1,200/);
    await page.goto("about:blank");
    await page.goto(address);
    await page.getByRole("dialog").waitFor();
    assert.equal(await page.getByLabel("search").inputValue(), "one");
  }, { hash: "#sentences" });
});

test("what happened after a message of an end-to-end case unfolds", async () => {
  await opened("traced", async (page) => {
    const then = page.locator("details").filter({ hasText: "what happened then" }).last();
    await then.locator("summary").last().click();
    const words = await then.innerText();
    for (const part of ["action utter_ask (RulePolicy, 0.50)", "slot city: Rome\\u202e", "slots then", "trip_form"]) assert.ok(words.includes(part), words);
  }, { hash: "#conversations" });
});

test("without a base nothing is said to have changed", async () => {
  await opened("traced", async (page) => {
    assert.match(await page.locator("#view").innerText(), /No intent was judged\.[\s\S]*No intent is confused with another\./);
  }, { hash: "#intents" });
});

test("the slider begins at the threshold of today, where no verdict is another", async () => {
  for (const [name, at] of [["unsure", "0.35"], ["unsurer", "0.325"]]) {
    await opened(name, async (page) => {
      await page.getByText("Fallback threshold").click();
      const same = "1 right, 0 wrong, 1 not understood, 100.0 % of the answers right";
      assert.equal(await page.locator(".threshold .told-cell").innerText(), `At ${at}: ${same} · today (${at}): ${same}`);
      assert.doesNotMatch(await page.locator(".threshold").innerText(), /another verdict/);
    }, { hash: "#sentences" });
  }
});

test("letters that nobody sees, or that look the same, are escapes where texts differ", async () => {
  await opened("alike", async (page) => {
    const shown = ["caffe\\u0300", "a\\u3164b", "one\\u2800two", "ok \u2705\\ufe0f"];
    await eventually(async () => assert.deepEqual(await page.locator("dd.got").allInnerTexts(), shown));
    assert.equal(await page.locator("dd.expected").first().innerText(), "caff\\u00e8");
  }, { hash: "#conversations" });
});

test("an address of a conversation shows it among what changed, and a filter chooses without it", async () => {
  await opened("bank", async (page) => {
    const key = await page.evaluate(() => [...document.querySelectorAll(".conversation")].find((one) => !one.querySelector(".flag")).dataset.key);
    const changed = await page.evaluate(() => document.querySelectorAll(".conversation:has(.flag)").length);
    await page.evaluate((to) => { location.hash = to; }, `#${key}`);
    await page.getByLabel("only what changed").check();
    await page.locator(`details[data-key="${key}"][open]`).waitFor();
    const words = () => page.locator("#view p.told").innerText();
    assert.ok((await words()).startsWith(`${changed + 1} of `), await words());
    assert.match(await words(), /only what changed, is unclear or fails more often, and the one that the address names$/);
    await page.locator("#view").getByLabel("search").fill("no such words");
    await eventually(async () => assert.match(await words(), /^0 of .*only what changed, is unclear or fails more often$/));
  }, { hash: "#conversations?all=1" });
});

test("all sentences of an intent are all, also where only what changed is shown", async () => {
  await opened("bank", async (page) => {
    await rows(page).getByRole("link").first().click();
    await page.getByRole("dialog").getByRole("link", { name: "All sentences of the intent" }).click();
    await eventually(async () => assert.match(await told(page), /^\d+ of 48 sentences$/));
  }, { hash: "#sentences" });
});

test("what varies is told in its folded row, with how many runs pass, and can be filtered", async () => {
  await opened("varying", async (page) => {
    const summaries = page.locator(".conversation > summary");
    const rowOf = async (name) => (await summaries.filter({ hasText: name }).innerText()).replace(/\s+/g, " ");
    assert.match(await rowOf("now and then"), /^~ flaky 19\/24 now and then/);
    assert.match(await rowOf("no more"), /^✕ regressed 0\/5 no more/);
    assert.match(await rowOf("who knows"), /^\? unclear 2\/4 who knows/);
    assert.match(await rowOf("never"), /^✕ failed 0\/4 never/);
    assert.match(await rowOf("always"), /^✓ passed always/);
    const choose = page.getByLabel("outcome");
    assert.deepEqual(await choose.locator("option").allInnerTexts(), ["all", "failed", "flaky", "passed", "regressed", "unclear"]);
    await choose.selectOption("flaky");
    await eventually(async () => assert.match(await told(page), /^1 of 5 conversations/));
    await choose.selectOption("failed");
    await eventually(async () => assert.match(await told(page), /^2 of 5 conversations/));
    assert.deepEqual(await violations(page), []);
  }, { hash: "#conversations" });
});

test("a sentence whose runs do not say how it fares is not wrong, and outcomes are offered where there are any", async () => {
  await opened("varying", async (page) => {
    const choose = page.getByLabel("outcome");
    await choose.selectOption("misclassified");
    await eventually(async () => assert.match(await told(page), /^2 of 6 sentences/));
    await choose.selectOption("right");
    await eventually(async () => assert.match(await told(page), /^3 of 6 sentences/));
    await choose.selectOption("flaky");
    await eventually(async () => assert.match((await rows(page).allInnerTexts()).join(), /now and then[^]*flaky 19\/24/));
    await choose.selectOption("unclear");
    await eventually(async () => assert.match(await told(page), /^1 of 6 sentences/));
    await rows(page).first().getByRole("link").first().click();
    const dialog = await page.getByRole("dialog").innerText();
    assert.match(dialog, /unclear 2\/4/);
    assert.doesNotMatch(dialog, /wrong/);
  }, { hash: "#sentences" });
  await opened("bank", async (page) => {
    assert.deepEqual(await page.getByLabel("outcome").locator("option").allInnerTexts(), ["all", "right", "wrong", "not understood", "misclassified", "entities wrong"]);
  }, { hash: "#sentences" });
});

test("the name of a check breaks after an underscore, never within a word", async () => {
  for (const width of [1600, 1100, 800]) {
    await opened("varying", async (page) => {
      const broken = await page.evaluate(() => [...document.querySelectorAll(".speaker")].flatMap((one) => [...one.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).filter((node) => {
        const range = document.createRange();
        range.selectNodeContents(node);
        return range.getClientRects().length > 1;
      }).map((node) => node.data)));
      assert.deepEqual(broken, [], `at ${width}`);
    }, { hash: "#conversations", width });
  }
});
