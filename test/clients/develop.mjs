// viem's test actions on a chain of nodegate, under the names of three tools.

import assert from "node:assert/strict";
import { createTestClient, http, parseEther, publicActions, walletActions } from "viem";

const [url] = process.argv.slice(2);
const someone = "0x00000000000000000000000000000000000000dd";
let checks = 0;

/** check counts what was compared. */
function check(got, want) {
  assert.deepEqual(got, want);
  checks++;
}

const chain = { id: 1337, name: "devnet", nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 }, rpcUrls: { default: { http: [url] } } };

for (const mode of ["hardhat", "anvil", "ganache"]) {
  const client = createTestClient({ mode, chain, transport: http(url), pollingInterval: 20 }).extend(publicActions).extend(walletActions);
  const start = await client.snapshot();

  await client.setBalance({ address: someone, value: parseEther("3") });
  check(await client.getBalance({ address: someone }), parseEther("3"));
  await client.setCode({ address: someone, bytecode: "0x602a60005260206000f3" });
  check(BigInt((await client.call({ to: someone })).data), 42n);

  const before = await client.getBlock();
  await client.mine({ blocks: 3 });
  check(await client.getBlockNumber({ cacheTime: 0 }), before.number + 3n);
  const time = (await client.getBlock()).timestamp;
  await client.setNextBlockTimestamp({ timestamp: time + 1000n });
  await client.mine({ blocks: 1 });
  check((await client.getBlock()).timestamp, time + 1000n);
  await client.increaseTime({ seconds: 3600 });
  await client.mine({ blocks: 1 });
  const late = (await client.getBlock()).timestamp;
  assert.ok(late >= time + 4600n && late < time + 4700n, `the clock is ${late - time} seconds on`);
  checks++;

  if (mode !== "ganache") {
    await client.setNonce({ address: someone, nonce: 5 });
    check(await client.getTransactionCount({ address: someone }), 5);
    await client.setStorageAt({ address: someone, index: 2, value: `0x${"00".repeat(31)}07` });
    check(BigInt(await client.getStorageAt({ address: someone, slot: "0x2" })), 7n);
    await client.setNextBlockBaseFeePerGas({ baseFeePerGas: 2_000_000_000n });
    await client.mine({ blocks: 1 });
    check((await client.getBlock()).baseFeePerGas, 2_000_000_000n);

    await client.impersonateAccount({ address: someone });
    const hash = await client.sendTransaction({ account: someone, to: "0x00000000000000000000000000000000000000de", value: 1n });
    const receipt = await client.waitForTransactionReceipt({ hash });
    check([receipt.status, receipt.from, (await client.getTransaction({ hash })).from], ["success", someone, someone]);
    await client.stopImpersonatingAccount({ address: someone });
    await assert.rejects(client.sendTransaction({ account: someone, to: someone }));
    checks++;

    const [account] = await client.getAddresses();
    await client.setAutomine(false);
    check(await client.getAutomine(), false);
    const waiting = await client.sendTransaction({ account, to: someone, value: 1n, gas: 100_000n });
    check(BigInt((await client.getTxpoolStatus()).pending), 1n);
    await client.dropTransaction({ hash: waiting });
    check(BigInt((await client.getTxpoolStatus()).pending), 0n);
    await client.setAutomine(true);
    check(await client.getAutomine(), true);
  }

  await client.setIntervalMining({ interval: mode === "hardhat" ? 1 : 1000 }); // one second: the others pass the number on as it is
  await client.setIntervalMining({ interval: 0 });
  await client.revert({ id: start });
  check(await client.getBalance({ address: someone }), 0n);
}

console.log(`ok ${checks} checks`);
