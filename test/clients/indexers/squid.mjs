// Subsquid's processor on the devnet: every log of the demo contract with its transaction.

import assert from "node:assert/strict";
import { EvmBatchProcessor } from "@subsquid/evm-processor";

const facts = JSON.parse(process.env.NODEGATE_FACTS);
const processor = new EvmBatchProcessor()
  .setRpcEndpoint({ url: process.env.NODEGATE_URL, rateLimit: 50 })
  .setFinalityConfirmation(0)
  .setBlockRange({ from: 0, to: facts.head })
  .setFields({ log: { transactionHash: true }, transaction: { gasUsed: true, status: true } })
  .addLog({ address: [facts.demo.toLowerCase()], transaction: true });

// A database that keeps nothing: its place in the chain is all that the processor needs.
let state = { height: -1, hash: "0x" };
const database = {
  supportsHotBlocks: false,
  connect: async () => state,
  transact: async ({ nextHead }, run) => {
    await run({});
    state = nextHead;
  },
};

const logs = [];
processor.run(database, async ({ blocks }) => {
  for (const block of blocks) logs.push(...block.logs);
});

process.on("exit", (code) => {
  if (code !== 0) return;
  const want = facts.transactions.filter((tx) => tx.logs > 0 && tx.type !== 4); // that one is of an account that took the contract's code
  let checks = 0;
  for (const tx of want) {
    const found = logs.filter((log) => log.transactionHash === tx.hash);
    assert.equal(found.length, tx.logs, tx.name);
    assert.deepEqual([found[0].transaction.status, Number(found[0].transaction.gasUsed)], [1, tx.gasUsed], tx.name);
    checks += 2;
  }
  assert.equal(state.height, facts.head);
  console.log(`ok ${checks + 1} checks`);
});
