// wagmi's core against the service: the functions behind its hooks, over HTTP and over
// WebSocket, with a connector that asks the service to sign nothing.

import assert from "node:assert/strict";
import {
  call, connect, createConfig, estimateGas, fallback, getBalance, getBlock, getBlockNumber, getBytecode, getChainId, getFeeHistory, getGasPrice, getProof,
  getStorageAt, getTransaction, getTransactionCount, getTransactionReceipt, http, mock, readContract, readContracts, simulateContract, waitForTransactionReceipt, watchBlockNumber, watchContractEvent, webSocket,
} from "@wagmi/core";
import { createWalletClient, http as viemHTTP } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { check, failure, finish, input, onePerType, until } from "./harness.mjs";

const { abi } = input;
const { devnet, rollup } = input.networks;
const account = privateKeyToAccount(input.account.privateKey);

const chainOf = (network) => ({
  id: network.facts.chainId, name: network.facts.name, nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
  rpcUrls: { default: { http: [network.http], webSocket: [network.ws] } },
});
const chains = [chainOf(devnet), chainOf(rollup)];

/** open is the configuration of an app for both networks. */
const open = (transportOf) =>
  createConfig({
    chains, connectors: [mock({ accounts: [account.address] })], pollingInterval: 50, cacheTime: 0,
    transports: { [chains[0].id]: transportOf(devnet), [chains[1].id]: transportOf(rollup) },
  });

async function reads(label, config, { facts }) {
  const chainId = facts.chainId, blockNumber = BigInt(facts.head); // other scripts change the newest state
  const demo = { chainId, address: facts.demo, abi, blockNumber };
  await check(`${label}: head`, async () => {
    assert.ok((await getBlockNumber(config, { chainId })) >= BigInt(facts.head));
    assert.equal((await getBlock(config, { chainId, blockNumber })).hash, facts.headHash);
    assert.ok((await getGasPrice(config, { chainId })) > 0n);
    assert.equal((await getFeeHistory(config, { chainId, blockCount: 2, rewardPercentiles: [50] })).reward.length, 2);
  });
  for (const want of onePerType({ facts })) {
    await check(`${label}: transaction of type ${want.type}`, async () => {
      assert.equal((await getTransaction(config, { chainId, hash: want.hash })).blockHash, want.blockHash);
      assert.equal(Number((await getTransactionReceipt(config, { chainId, hash: want.hash })).gasUsed), want.gasUsed);
    });
  }
  await check(`${label}: state`, async () => {
    assert.equal(await getStorageAt(config, { chainId, address: facts.demo, slot: facts.value.position, blockNumber }), facts.value.word);
    assert.ok((await getBytecode(config, { chainId, address: facts.demo })).length > 2);
    assert.ok((await getBalance(config, { chainId, address: account.address })).value > 0n);
    assert.ok((await getTransactionCount(config, { chainId, address: facts.balance.owner })) >= 0);
    assert.equal((await getProof(config, { chainId, address: facts.demo, storageKeys: [facts.value.word] })).address.toLowerCase(), facts.demo.toLowerCase());
  });
  await check(`${label}: contract`, async () => {
    assert.equal(await readContract(config, { ...demo, functionName: "value" }), BigInt(facts.value.word));
    const both = await readContracts(config, { contracts: [{ ...demo, functionName: "value" }, { ...demo, functionName: "failWithReason" }] });
    assert.deepEqual(both.map((one) => one.status), ["success", "failure"]);
    assert.equal((await simulateContract(config, { ...demo, functionName: "setValue", args: [9n], account: account.address })).request.functionName, "setValue");
    assert.ok((await estimateGas(config, { chainId, to: account.address, account: account.address, connector: null })) >= 21_000n);
    assert.ok(await call(config, { chainId, to: facts.demo, data: "0x3fa4f245", blockNumber }));
  });
}

async function watches(label, config) {
  const chainId = devnet.facts.chainId;
  const wallet = createWalletClient({ account, chain: chains[0], transport: viemHTTP(devnet.http) });
  await check(`${label}: blocks and events`, async () => {
    const hash = await wallet.deployContract({ abi, bytecode: input.code });
    const { contractAddress: address } = await waitForTransactionReceipt(config, { chainId, hash });
    const blocks = [], events = [];
    const ends = [
      watchBlockNumber(config, { chainId, onBlockNumber: (number) => blocks.push(number) }),
      watchContractEvent(config, { chainId, address, abi, eventName: "ValueChanged", onLogs: (logs) => events.push(...logs) }),
    ];
    let sent = 0n;
    await until(async () => {
      await wallet.writeContract({ address, abi, functionName: "setValue", args: [++sent] });
      await new Promise((resolve) => setTimeout(resolve, 200));
      return blocks.length > 0 && events.length > 0;
    });
    assert.equal(events[0].eventName, "ValueChanged");
    ends.forEach((end) => end());
  });
}

const overHTTP = open((network) => http(network.http, { batch: true }));
const overSocket = open((network) => webSocket(network.ws));
for (const network of [devnet, rollup]) {
  await reads(`http ${network.facts.name}`, overHTTP, network);
  await reads(`ws ${network.facts.name}`, overSocket, network);
}
await check("connects", async () => {
  await connect(overHTTP, { connector: overHTTP.connectors[0], chainId: devnet.facts.chainId });
  assert.equal(getChainId(overHTTP), devnet.facts.chainId);
});
await watches("http", overHTTP);
await watches("ws", overSocket);
await check("falls back from a wrong key", async () => {
  const config = open((network) => fallback([http(input.badKey.http, { retryCount: 0 }), http(network.http)]));
  assert.ok((await getBlockNumber(config, { chainId: devnet.facts.chainId })) >= 10n);
});
await check("a wrong key", async () => {
  const config = open(() => http(input.badKey.http, { retryCount: 0 }));
  assert.match((await failure(getBlockNumber(config))).message, /invalid API key/);
});
finish();
