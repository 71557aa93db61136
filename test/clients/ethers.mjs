// ethers 6 against the service, over HTTP and over WebSocket.

import assert from "node:assert/strict";
import {
  AbiCoder, Contract, ContractFactory, FetchRequest, Interface, JsonRpcProvider, Network, Transaction, Wallet,
  WebSocketProvider, dataSlice, getAddress, id, isCallException, isError, keccak256, toBeHex, toQuantity,
} from "ethers";
import { check, failure, finish, input, onePerType, txOf, until } from "./harness.mjs";

const { devnet, rollup } = input.networks;
const iface = new Interface(input.abi);
const owner = devnet.facts.balance.owner;

/**
 * For a chain that mines at once. By default ethers remembers an answer for 250 ms, an
 * account's nonce too, so that a second transaction right after the first would be refused.
 */
const quick = { pollingInterval: 100, cacheTimeout: -1 };

const http = (network, options) => new JsonRpcProvider(network.http, undefined, { ...quick, ...options });

const socket = (network) => new Socket(network.ws, undefined, quick);

/** Socket remembers the subscriptions it asked for: on() alone does not wait for the answers. */
class Socket extends WebSocketProvider {
  subscribed = [];

  send(method, params) {
    const answer = super.send(method, params);
    if (method === "eth_subscribe") this.subscribed.push(answer);
    return answer;
  }
}

/** stranger is an address that only this script and transport sends to. */
const stranger = (label) => getAddress(dataSlice(id(`ethers ${label}`), 12));

const mappingSlot = (address, slot) =>
  keccak256(AbiCoder.defaultAbiCoder().encode(["address", "uint256"], [address, slot]));

async function blocks(label, provider, network) {
  const { facts } = network;
  await check(`${label}: chain id`, async () => {
    assert.equal((await provider.getNetwork()).chainId, BigInt(facts.chainId));
  });
  await check(`${label}: block number`, async () => {
    assert.ok((await provider.getBlockNumber()) >= facts.head);
  });
  await check(`${label}: block with transactions`, async () => {
    const block = await provider.getBlock(facts.head, true);
    assert.equal(block.hash, facts.headHash);
    const want = facts.transactions.filter((tx) => tx.block === facts.head).map((tx) => tx.hash);
    assert.deepEqual(block.prefetchedTransactions.map((tx) => tx.hash), want);
  });
  await check(`${label}: tagged blocks`, async () => {
    for (const tag of ["earliest", "latest", "safe", "finalized", "pending"]) {
      assert.ok(await provider.getBlock(tag), tag);
    }
    assert.equal((await provider.getBlock(facts.headHash)).number, facts.head);
    assert.equal(await provider.getBlock(99_999_999), null);
  });
}

async function transactions(label, provider, network) {
  for (const want of onePerType(network)) {
    await check(`${label}: transaction of type ${want.type}`, async () => {
      const tx = await provider.getTransaction(want.hash);
      assert.deepEqual([tx.type, tx.blockNumber, tx.blockHash, tx.index], [want.type, want.block, want.blockHash, want.index]);
      // Made anew from its fields: the hash and the sender match only when every field does.
      const again = Transaction.from(tx);
      assert.equal(again.hash, want.hash);
      assert.equal(again.from, tx.from);
    });
    await check(`${label}: receipt of type ${want.type}`, async () => {
      const receipt = await provider.getTransactionReceipt(want.hash);
      assert.deepEqual(
        [receipt.type, receipt.status, Number(receipt.gasUsed), receipt.logs.length, receipt.blockHash],
        [want.type, want.status, want.gasUsed, want.logs, want.blockHash]);
      assert.equal(receipt.blobGasUsed, want.type === 3 ? 131072n : null);
    });
  }
  await check(`${label}: an unknown transaction is null`, async () => {
    assert.equal(await provider.getTransaction(id("nothing")), null);
    assert.equal(await provider.getTransactionReceipt(id("nothing")), null);
  });
}

async function failedTransactions(label, provider) {
  for (const name of ["revert with reason", "panic", "out of gas", "busy custom error"]) {
    await check(`${label}: receipt of «${name}»`, async () => {
      const want = txOf(devnet, name);
      const receipt = await provider.getTransactionReceipt(want.hash);
      assert.deepEqual([receipt.status, Number(receipt.gasUsed)], [0, want.gasUsed]);
    });
  }
  await check(`${label}: receipt of the deployment`, async () => {
    const receipt = await provider.getTransactionReceipt(txOf(devnet, "deploy").hash);
    assert.equal(receipt.contractAddress, getAddress(devnet.facts.demo));
    assert.equal(receipt.to, null);
  });
}

async function state(label, provider, network) {
  const { facts } = network;
  await check(`${label}: storage`, async () => {
    assert.equal(await provider.getStorage(facts.demo, 0, facts.head), facts.value.word);
    const slot = mappingSlot(owner, 1);
    assert.equal(slot, facts.balance.position);
    assert.equal(await provider.getStorage(facts.demo, slot, facts.head), facts.balance.word);
  });
  await check(`${label}: proof`, async () => {
    const block = await provider.getBlock(facts.head);
    const proof = await provider.send("eth_getProof", [facts.demo, ["0x0", facts.balance.position], toQuantity(facts.head)]);
    assert.equal(keccak256(proof.accountProof[0]), block.stateRoot);
    assert.equal(keccak256(proof.storageProof[0].proof[0]), proof.storageHash);
    assert.deepEqual(proof.storageProof.map((p) => BigInt(p.value)), [BigInt(facts.value.word), BigInt(facts.balance.word)]);
    assert.equal(keccak256(await provider.getCode(facts.demo)), proof.codeHash);
  });
  await check(`${label}: receipts of a block`, async () => {
    const receipts = await provider.send("eth_getBlockReceipts", [toQuantity(facts.head)]);
    const want = facts.transactions.filter((tx) => tx.block === facts.head);
    assert.deepEqual(receipts.map((r) => r.transactionHash), want.map((tx) => tx.hash));
    assert.deepEqual(receipts.map((r) => Number(r.gasUsed)), want.map((tx) => tx.gasUsed));
  });
  await check(`${label}: transaction by block and index`, async () => {
    const want = txOf(network, "busy transfer 2");
    const tx = await provider.send("eth_getTransactionByBlockHashAndIndex", [want.blockHash, toQuantity(want.index)]);
    assert.equal(tx.hash, want.hash);
  });
  await check(`${label}: logs`, async () => {
    const demo = new Contract(facts.demo, iface, provider);
    const logs = await demo.queryFilter("ValueChanged", 0, 10);
    assert.deepEqual(logs.map((log) => log.args.value), [7n, 2930n, 42n]);
  });
}

async function calls(label, provider, network) {
  const { facts } = network;
  const demo = new Contract(facts.demo, iface, provider);
  await check(`${label}: view functions`, async () => {
    const at = { blockTag: facts.head };
    assert.equal(await demo.value(at), 42n);
    assert.equal(await demo.balanceOf(owner, at), BigInt(facts.balance.word));
    assert.equal(await demo.loop(3n), 33n);
  });
  await check(`${label}: gas estimates`, async () => {
    const from = input.account.address;
    const gas = await demo.setValue.estimateGas(5n, { from });
    assert.ok(gas > 21_000n && gas < 60_000n, `${gas}`);
    assert.equal(await provider.estimateGas({ from, to: stranger("estimate"), value: 1n }), 21_000n);
  });
}

async function reverts(label, provider, network) {
  const demo = new Contract(network.facts.demo, iface, provider);
  await check(`${label}: reason of a revert`, async () => {
    const err = await failure(demo.failWithReason());
    assert.ok(isCallException(err), err);
    assert.equal(err.reason, "demo: always fails");
    assert.equal(err.revert.name, "Error");
  });
  await check(`${label}: custom error`, async () => {
    const err = await failure(demo.failWithCustomError());
    assert.ok(isCallException(err), err);
    assert.equal(err.revert.name, "InsufficientDemo");
    assert.deepEqual([...err.revert.args], [1n, 2n]);
  });
  await check(`${label}: panic`, async () => {
    const err = await failure(demo.failWithPanic());
    assert.ok(isCallException(err), err);
    assert.equal(err.reason, "Panic due to ASSERT_FALSE(1)");
  });
  await check(`${label}: reverts while estimating`, async () => {
    const err = await failure(demo.transfer.estimateGas(owner, 5n, { from: stranger("poor") }));
    assert.ok(isCallException(err), err);
    assert.deepEqual([err.action, ...iface.parseError(err.data).args], ["estimateGas", 0n, 5n]);
    const reason = await failure(demo.failWithReason.estimateGas());
    assert.equal(reason.reason, "demo: always fails");
  });
}

async function send(label, provider, network) {
  const wallet = new Wallet(input.account.privateKey, provider);
  const demo = new Contract(network.facts.demo, iface, wallet);
  const to = stranger(label);
  await check(`${label}: a contract call is mined`, async () => {
    const tx = await demo.transfer(to, 3n);
    const receipt = await tx.wait();
    assert.deepEqual([receipt.status, receipt.type, receipt.from], [1, 2, wallet.address]);
    const log = iface.parseLog(receipt.logs[0]);
    assert.deepEqual([log.name, ...log.args], ["Transfer", wallet.address, to, 3n]);
    assert.equal(await demo.balanceOf(to, { blockTag: receipt.blockNumber }), 3n);
    assert.equal(await demo.balanceOf(to), 3n);
  });
  for (const fields of [{ type: 0 }, { type: 1, accessList: [{ address: network.facts.demo, storageKeys: [toBeHex(0, 32)] }] }, { type: 2 }]) {
    await check(`${label}: a transfer of type ${fields.type} is mined`, async () => {
      const before = await provider.getBalance(to);
      const receipt = await (await wallet.sendTransaction({ to, value: 5n, ...fields })).wait();
      assert.deepEqual([receipt.status, receipt.type], [1, fields.type]);
      assert.equal(await provider.getBalance(to, receipt.blockNumber), before + 5n);
    });
  }
  await check(`${label}: a code delegation is mined`, () => delegate(wallet, provider, network));
  await check(`${label}: a contract is created`, async () => {
    const contract = await new ContractFactory(iface, input.code, wallet).deploy();
    await contract.waitForDeployment();
    assert.equal(await contract.balanceOf(wallet.address), 1_000_000n);
    assert.equal(await contract.getDeployedCode(), await provider.getCode(network.facts.demo));
  });
  await check(`${label}: a used nonce is refused`, async () => {
    const err = await failure(wallet.sendTransaction({ to, value: 1n, nonce: 0 }));
    assert.ok(isError(err, "NONCE_EXPIRED"), err);
  });
  await check(`${label}: too little money is refused`, async () => {
    const poor = new Wallet(id(`poor ${label}`), provider);
    const err = await failure(poor.sendTransaction({ to, value: 1n, gasLimit: 21_000n }));
    assert.ok(isError(err, "INSUFFICIENT_FUNDS"), err);
  });
}

/** delegate lets a fresh account run the demo contract's code, paid by the wallet. */
async function delegate(wallet, provider, network) {
  const fresh = Wallet.createRandom(provider);
  const authorization = await fresh.authorize({ address: network.facts.demo, nonce: 0 });
  const data = iface.encodeFunctionData("setValue", [8n]);
  const tx = await wallet.sendTransaction({ type: 4, to: fresh.address, data, authorizationList: [authorization], gasLimit: 200_000n });
  const receipt = await tx.wait();
  assert.deepEqual([receipt.status, receipt.type], [1, 4]);
  assert.equal(await provider.getCode(fresh.address), `0xef0100${network.facts.demo.slice(2)}`);
  assert.equal(await new Contract(fresh.address, iface, provider).value(), 8n);
}

async function subscriptions(label, provider, network) {
  const wallet = new Wallet(input.account.privateKey, provider);
  const demo = new Contract(network.facts.demo, iface, wallet);
  await check(`${label}: new heads and logs arrive`, async () => {
    const to = stranger(`${label} subscription`);
    const heads = [];
    await provider.on("block", (number) => heads.push(number));
    let seen;
    const event = new Promise((resolve) => (seen = resolve));
    await demo.once(demo.filters.Transfer(null, to), (...args) => seen(args.at(-1)));
    await Promise.all(provider.subscribed);
    assert.equal(provider.subscribed.length, 2);
    const receipt = await (await demo.transfer(to, 2n)).wait();
    const { log } = await event;
    assert.equal(log.transactionHash, receipt.hash);
    assert.equal(log.blockHash, receipt.blockHash);
    await until(() => heads.includes(receipt.blockNumber)); // heads and logs come in no particular order
    await provider.removeAllListeners();
  });
}

async function batches() {
  await check("http: one batch for calls of one moment", async () => {
    const provider = http(devnet, { staticNetwork: Network.from(devnet.facts.chainId) });
    const payloads = [];
    provider.on("debug", (event) => {
      if (event.action === "sendRpcPayload") payloads.push(event.payload);
    });
    const results = await Promise.allSettled([
      provider.getBlockNumber(), provider.getBalance(owner), provider.send("eth_nothing", []),
      provider.getStorage(devnet.facts.demo, 0, devnet.facts.head),
      ...Array.from({ length: 50 }, (_, n) => provider.getTransactionCount(owner, n % 10)),
    ]);
    assert.equal(payloads.length, 1);
    assert.equal(payloads[0].length, 54);
    assert.deepEqual(results.flatMap((r, n) => (r.status === "rejected" ? [n] : [])), [2]);
    assert.equal(results[3].value, devnet.facts.value.word);
  });
}

async function errors(label, provider) {
  await check(`${label}: unknown method`, async () => {
    const err = await failure(provider.send("eth_nothing", []));
    assert.ok(isError(err, "UNSUPPORTED_OPERATION"), err);
    assert.equal(err.info.error.code, -32601);
  });
  await check(`${label}: bad parameter`, async () => {
    const err = await failure(provider.send("eth_getStorageAt", ["0x12", "0x0", "latest"]));
    assert.equal(err.error.code, -32602);
  });
}

async function closedDoors() {
  const fixed = { staticNetwork: Network.from(1337) };
  for (const [name, address, status, code, message] of [
    ["bad key", input.badKey.http, 401, -32041, "invalid API key"], ["unknown network", input.unknown.http, 404, -32001, "unknown network"],
  ]) {
    await check(`http: ${name}`, async () => {
      const request = new FetchRequest(address);
      const err = await failure(new JsonRpcProvider(request, undefined, fixed).getBlockNumber());
      assert.ok(isError(err, "SERVER_ERROR"), err);
      assert.equal(err.response.statusCode, status);
      assert.deepEqual(err.response.bodyJson, { jsonrpc: "2.0", id: null, error: { code, message } });
    });
  }
  await check("ws: bad key", async () => {
    const provider = new WebSocketProvider(input.badKey.ws, undefined, fixed);
    const err = await new Promise((resolve) => (provider.websocket.onerror = resolve));
    assert.match(err.message, /401/);
  });
}

async function layer2(label, provider) {
  const { facts } = rollup;
  const call = { from: input.account.address, to: facts.demo, data: iface.encodeFunctionData("setValue", [1n]) };
  await check(`${label}: fees of the rollup`, async () => {
    // Pinned to a block: other clients change the value meanwhile, and with it the gas.
    const params = [call, toQuantity(facts.head)];
    const estimate = await provider.send("linea_estimateGas", params);
    assert.deepEqual(await provider.send("layer2_estimateGas", params), estimate);
    assert.deepEqual(Object.keys(estimate).sort(), ["baseFeePerGas", "gasLimit", "priorityFeePerGas"]);
    assert.equal(BigInt(estimate.baseFeePerGas), 7n);
    assert.equal(estimate.gasLimit, await provider.send("eth_estimateGas", params));
    assert.ok((await provider.send("linea_estimateGas", [call])).gasLimit);
    assert.ok(BigInt(estimate.priorityFeePerGas) > 1_000_000n);
    const wallet = new Wallet(input.account.privateKey, provider);
    const priority = BigInt(estimate.priorityFeePerGas);
    const tx = await wallet.sendTransaction({
      ...call, gasLimit: estimate.gasLimit, maxPriorityFeePerGas: priority, maxFeePerGas: priority + BigInt(estimate.baseFeePerGas),
    });
    assert.equal((await tx.wait()).status, 1);
  });
  await check(`${label}: a receipt outside of the window is refused`, async () => {
    const err = await failure(provider.getTransactionReceipt(txOf(rollup, "legacy call").hash));
    assert.equal(err.error.code, -32002);
  });
}

async function everything(kind, open) {
  for (const network of [devnet, rollup]) {
    const provider = open(network);
    const label = `${kind} ${network.facts.name}`;
    for (const part of [blocks, transactions, state, calls, reverts, send, errors]) {
      await part(label, provider, network);
    }
  }
  await failedTransactions(`${kind} devnet`, open(devnet));
  await layer2(`${kind} rollup`, open(rollup));
}

await everything("http", http);
await everything("ws", socket);
await subscriptions("ws devnet", socket(devnet), devnet);
await subscriptions("ws rollup", socket(rollup), rollup);
await batches();
await closedDoors();
finish();
