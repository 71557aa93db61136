// ethers 6 driven into a plan's limit: it waits and tries again by itself, and every
// call succeeds in the end.

import assert from "node:assert/strict";
import { JsonRpcProvider, toBeHex } from "ethers";
import { check, finish, input } from "./harness.mjs";

const { http, calls, batch } = input;

/** balances asks for that many different accounts, all at once: equal calls would be asked once. */
const balances = (provider, first, count) =>
  Promise.all(Array.from({ length: count }, (_, i) => provider.getBalance(toBeHex(first + i, 20))));

await check("many calls at once", async () => {
  const provider = new JsonRpcProvider(http, undefined, { batchMaxCount: 1 });
  const answers = await balances(provider, 0x10000, calls);
  assert.deepEqual(answers, new Array(calls).fill(0n));
});

await check("batches that fit one by one", async () => {
  const provider = new JsonRpcProvider(http, undefined, { batchMaxCount: batch });
  const answers = await balances(provider, 0x20000, 3 * batch);
  assert.deepEqual(answers, new Array(3 * batch).fill(0n));
});

finish();
