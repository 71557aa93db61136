// ethers 5 against the service, over HTTP and over WebSocket.

import assert from "node:assert/strict";
import { ethers } from "ethers5";
import { check, failure, finish, input, onePerType, until } from "./harness.mjs";

const { abi } = input;
const { devnet } = input.networks;

async function reads(label, provider, { facts }) {
  await check(`${label}: network and head`, async () => {
    assert.equal((await provider.getNetwork()).chainId, facts.chainId);
    assert.ok((await provider.getBlockNumber()) >= facts.head);
    assert.equal((await provider.getBlock(facts.head)).hash, facts.headHash);
  });
  await check(`${label}: block with transactions`, async () => {
    const want = facts.transactions.filter((tx) => tx.block === facts.head).map((tx) => tx.hash);
    assert.deepEqual((await provider.getBlockWithTransactions(facts.head)).transactions.map((tx) => tx.hash), want);
  });
  for (const want of onePerType({ facts })) {
    await check(`${label}: transaction of type ${want.type}`, async () => {
      const tx = await provider.getTransaction(want.hash);
      assert.deepEqual([tx.type, tx.blockNumber, tx.blockHash], [want.type, want.block, want.blockHash]);
      const receipt = await provider.getTransactionReceipt(want.hash);
      assert.deepEqual([receipt.status, receipt.gasUsed.toNumber(), receipt.logs.length], [1, want.gasUsed, want.logs]);
    });
  }
  await check(`${label}: state`, async () => {
    assert.equal(await provider.getStorageAt(facts.demo, facts.value.position, facts.head), facts.value.word);
    assert.notEqual(await provider.getCode(facts.demo), "0x");
    assert.ok((await provider.getBalance(facts.balance.owner)).gt(0));
    assert.ok((await provider.getFeeData()).maxFeePerGas.gt(0));
  });
  const demo = new ethers.Contract(facts.demo, abi, provider);
  await check(`${label}: contract`, async () => {
    assert.equal((await demo.value({ blockTag: facts.head })).toNumber(), 42);
    assert.ok((await demo.queryFilter(demo.filters.Transfer(), 0, facts.head)).length > 0);
  });
  await check(`${label}: reverts`, async () => {
    const err = await failure(demo.failWithReason());
    assert.equal(err.code, "CALL_EXCEPTION");
    assert.ok(err.reason, err);
    assert.equal((await failure(demo.failWithCustomError())).errorName, "InsufficientDemo");
  });
  await check(`${label}: an unknown transaction`, async () => {
    assert.equal(await provider.getTransaction(ethers.utils.id("nothing")), null);
  });
}

async function sends(label, provider) {
  const wallet = new ethers.Wallet(input.account.privateKey, provider);
  await check(`${label}: a transfer`, async () => {
    const to = ethers.Wallet.createRandom().address;
    const tx = await wallet.sendTransaction({ to, value: 5 });
    assert.equal((await tx.wait()).status, 1);
    assert.equal((await provider.getBalance(to)).toNumber(), 5);
  });
  await check(`${label}: a contract`, async () => {
    const factory = new ethers.ContractFactory(abi, input.code, wallet);
    const demo = await factory.deploy();
    await demo.deployed();
    const receipt = await (await demo.setValue(7)).wait();
    assert.equal(receipt.events[0].event, "ValueChanged");
    assert.equal((await demo.value()).toNumber(), 7);
  });
}

async function listens(provider) {
  await check("ws: events", async () => {
    const seen = [];
    provider.on("block", (number) => seen.push(number));
    await until(() => provider._subs?.tick !== undefined || Object.keys(provider._subIds ?? {}).length > 0);
    const wallet = new ethers.Wallet(input.account.privateKey, provider);
    const { blockNumber } = await (await wallet.sendTransaction({ to: wallet.address })).wait();
    await until(() => seen.includes(blockNumber));
    provider.removeAllListeners();
  });
}

for (const network of Object.values(input.networks)) {
  await reads(`http ${network.facts.name}`, new ethers.providers.JsonRpcProvider(network.http), network);
}
const batched = new ethers.providers.JsonRpcBatchProvider(devnet.http);
await reads("batch", batched, devnet);
const http = new ethers.providers.StaticJsonRpcProvider(devnet.http);
http.pollingInterval = 50;
await sends("http", http);
const socket = new ethers.providers.WebSocketProvider(devnet.ws);
await reads("ws devnet", socket, devnet);
await sends("ws", socket);
await listens(socket);
await check("http: a wrong key", async () => {
  const err = await failure(new ethers.providers.StaticJsonRpcProvider(input.badKey.http, devnet.facts.chainId).getBlockNumber());
  assert.match(err.body, /invalid API key/);
});
finish();
