// viem 2 against the service, over HTTP and over WebSocket.

import assert from "node:assert/strict";
import {
  BaseError, ContractFunctionRevertedError, MethodNotFoundRpcError, NonceTooLowError,
  createClient, createPublicClient, createWalletClient, decodeErrorResult, defineChain, encodeAbiParameters,
  encodeFunctionData, getAddress, http as httpTransport, keccak256, numberToHex, parseEventLogs, publicActions,
  recoverTransactionAddress, serializeTransaction, slice, toHex, walletActions, webSocket,
} from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { estimateGas as estimateLineaGas } from "viem/linea";
import { check, failure, finish, input, onePerType, txOf, until } from "./harness.mjs";

const { abi } = input;
const { devnet, rollup } = input.networks;
const account = privateKeyToAccount(input.account.privateKey);
const owner = devnet.facts.balance.owner;
const typeNames = ["legacy", "eip2930", "eip1559", "eip4844", "eip7702"];

/** open returns a client with everything that viem can do for readers and for wallets. */
function open(network, transport) {
  const chain = defineChain({
    id: network.facts.chainId, name: network.facts.name, nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
    rpcUrls: { default: { http: [network.http], webSocket: [network.ws] } },
  });
  // The chain mines at once: poll fast, and remember no block number.
  const client = createClient({ account, chain, transport, pollingInterval: 100, cacheTime: 0 });
  return remember(client).extend(publicActions).extend(walletActions);
}

/** remember keeps the requests of a client in begun: viem's watchers don't tell when they have started. */
function remember(client) {
  const { request, transport } = client;
  client.begun = [];
  const remembered = (run) => (...args) => {
    const promise = run(...args);
    client.begun.push(promise);
    return promise;
  };
  client.request = remembered(request);
  if (transport.subscribe) transport.subscribe = remembered(transport.subscribe);
  return client;
}

const http = (network, options) => open(network, httpTransport(network.http, options));
const socket = (network) => open(network, webSocket(network.ws));

/** stranger is an address that only this script and transport sends to. */
const stranger = (label) => getAddress(slice(keccak256(toHex(`viem ${label}`)), 12));

const demoOf = (network) => ({ address: network.facts.demo, abi });
const headOf = (network) => ({ blockNumber: BigInt(network.facts.head) });

/** revertOf finds the contract's own error among the layers that viem puts around it. */
function revertOf(err) {
  assert.ok(err instanceof BaseError, err);
  const revert = err.walk((e) => e instanceof ContractFunctionRevertedError);
  assert.ok(revert, err);
  return revert;
}

/** codeOf returns the JSON-RPC code at the bottom of an error. */
const codeOf = (err) => err.walk((e) => typeof e.code === "number")?.code;

async function blocks(label, client, network) {
  const { facts } = network;
  await check(`${label}: chain id`, async () => {
    assert.equal(await client.getChainId(), facts.chainId);
  });
  await check(`${label}: block number`, async () => {
    assert.ok((await client.getBlockNumber()) >= BigInt(facts.head));
  });
  await check(`${label}: block with transactions`, async () => {
    const block = await client.getBlock({ ...headOf(network), includeTransactions: true });
    assert.equal(block.hash, facts.headHash);
    const want = facts.transactions.filter((tx) => tx.block === facts.head).map((tx) => tx.hash);
    assert.deepEqual(block.transactions.map((tx) => tx.hash), want);
    assert.equal(await client.getBlockTransactionCount(headOf(network)), want.length);
  });
  await check(`${label}: tagged blocks`, async () => {
    for (const blockTag of ["earliest", "latest", "safe", "finalized", "pending"]) {
      assert.ok(await client.getBlock({ blockTag }), blockTag);
    }
    assert.equal((await client.getBlock({ blockHash: facts.headHash })).number, BigInt(facts.head));
    assert.equal((await failure(client.getBlock({ blockNumber: 99_999_999n }))).name, "BlockNotFoundError");
  });
  await check(`${label}: receipts of a block`, async () => {
    const want = facts.transactions.filter((tx) => tx.block === facts.head);
    for (const at of [headOf(network), { blockHash: facts.headHash }]) {
      const receipts = await client.getBlockReceipts(at);
      assert.deepEqual(receipts.map((r) => r.transactionHash), want.map((tx) => tx.hash));
      assert.deepEqual(receipts.map((r) => Number(r.gasUsed)), want.map((tx) => tx.gasUsed));
    }
    assert.ok(Array.isArray(await client.getBlockReceipts()));
  });
}

async function transactions(label, client, network) {
  for (const want of onePerType(network)) {
    await check(`${label}: transaction of type ${want.type}`, async () => {
      const tx = await client.getTransaction({ hash: want.hash });
      assert.deepEqual(
        [tx.type, Number(tx.blockNumber), tx.blockHash, tx.transactionIndex], [typeNames[want.type], want.block, want.blockHash, want.index]);
      // Made anew from its fields: the hash and the sender match only when every field does.
      const again = serializeTransaction({ ...tx, data: tx.input }, tx);
      assert.equal(keccak256(again), want.hash);
      assert.equal(await recoverTransactionAddress({ serializedTransaction: again }), getAddress(tx.from));
      const twin = await client.getTransaction({ blockHash: want.blockHash, index: want.index });
      assert.deepEqual(twin, tx);
    });
    await check(`${label}: receipt of type ${want.type}`, async () => {
      const receipt = await client.getTransactionReceipt({ hash: want.hash });
      assert.deepEqual(
        [receipt.type, receipt.status, Number(receipt.gasUsed), receipt.logs.length, receipt.blockHash],
        [typeNames[want.type], "success", want.gasUsed, want.logs, want.blockHash]);
      assert.equal(receipt.blobGasUsed, want.type === 3 ? 131072n : undefined);
    });
  }
  await check(`${label}: an unknown transaction`, async () => {
    const hash = keccak256("0x");
    assert.equal((await failure(client.getTransaction({ hash }))).name, "TransactionNotFoundError");
    assert.equal((await failure(client.getTransactionReceipt({ hash }))).name, "TransactionReceiptNotFoundError");
  });
}

async function failedTransactions(label, client) {
  for (const name of ["revert with reason", "panic", "out of gas", "busy custom error"]) {
    await check(`${label}: receipt of «${name}»`, async () => {
      const want = txOf(devnet, name);
      const receipt = await client.getTransactionReceipt({ hash: want.hash });
      assert.deepEqual([receipt.status, Number(receipt.gasUsed)], ["reverted", want.gasUsed]);
    });
  }
  await check(`${label}: receipt of the deployment`, async () => {
    const receipt = await client.getTransactionReceipt({ hash: txOf(devnet, "deploy").hash });
    assert.deepEqual([receipt.contractAddress, receipt.to], [devnet.facts.demo, null]);
  });
}

async function state(label, client, network) {
  const { facts } = network;
  await check(`${label}: storage`, async () => {
    const at = { address: facts.demo, ...headOf(network) };
    assert.equal(await client.getStorageAt({ ...at, slot: "0x0" }), facts.value.word);
    const slot = keccak256(encodeAbiParameters([{ type: "address" }, { type: "uint256" }], [owner, 1n]));
    assert.equal(slot, facts.balance.position);
    assert.equal(await client.getStorageAt({ ...at, slot }), facts.balance.word);
  });
  await check(`${label}: proof`, async () => {
    const storageKeys = [numberToHex(0, { size: 32 }), facts.balance.position];
    const proof = await client.getProof({ address: facts.demo, storageKeys, ...headOf(network) });
    const block = await client.getBlock(headOf(network));
    assert.equal(keccak256(proof.accountProof[0]), block.stateRoot);
    assert.equal(keccak256(proof.storageProof[0].proof[0]), proof.storageHash);
    assert.deepEqual(proof.storageProof.map((p) => p.value), [BigInt(facts.value.word), BigInt(facts.balance.word)]);
    assert.deepEqual([proof.nonce, proof.balance], [1, 0n]);
    assert.equal(keccak256(await client.getCode({ address: facts.demo })), proof.codeHash);
  });
  await check(`${label}: logs`, async () => {
    const logs = await client.getContractEvents({ ...demoOf(network), eventName: "ValueChanged", fromBlock: 0n, toBlock: 10n });
    assert.deepEqual(logs.map((log) => log.args.value), [7n, 2930n, 42n]);
  });
  await check(`${label}: delegation`, async () => {
    assert.equal(await client.getDelegation({ address: facts.delegator }), getAddress(facts.demo));
  });
  await check(`${label}: fees`, async () => {
    const fees = await client.estimateFeesPerGas();
    assert.ok(fees.maxFeePerGas > fees.maxPriorityFeePerGas);
    assert.ok((await client.getGasPrice()) > 0n);
    assert.ok((await client.getBlobBaseFee()) > 0n);
    const history = await client.getFeeHistory({ blockCount: 3, rewardPercentiles: [50], ...headOf(network) });
    assert.deepEqual([history.baseFeePerGas.length, history.reward.length], [4, 3]);
  });
}

async function calls(label, client, network) {
  const demo = demoOf(network);
  await check(`${label}: view functions`, async () => {
    const at = headOf(network);
    assert.equal(await client.readContract({ ...demo, functionName: "value", ...at }), 42n);
    assert.equal(await client.readContract({ ...demo, functionName: "balanceOf", args: [owner], ...at }), BigInt(network.facts.balance.word));
    assert.equal(await client.readContract({ ...demo, functionName: "loop", args: [3n] }), 33n);
  });
  await check(`${label}: overrides`, async () => {
    const stateOverride = [{ address: demo.address, stateDiff: [{ slot: numberToHex(0, { size: 32 }), value: numberToHex(99, { size: 32 }) }] }];
    assert.equal(await client.readContract({ ...demo, functionName: "value", stateOverride }), 99n);
    // NUMBER PUSH0 MSTORE MSIZE PUSH0 RETURN, as creation code: viem's call without an address.
    const number = await client.call({ data: "0x435f52595ff3", blockOverrides: { number: 777n } });
    assert.equal(BigInt(number.data), 777n);
  });
  await check(`${label}: gas estimates`, async () => {
    const gas = await client.estimateContractGas({ ...demo, functionName: "setValue", args: [5n] });
    assert.ok(gas > 21_000n && gas < 60_000n, `${gas}`);
    assert.equal(await client.estimateGas({ to: stranger("estimate"), value: 1n }), 21_000n);
    const stateOverride = [{ address: stranger("rich"), balance: 10n ** 18n }];
    assert.equal(await client.estimateGas({ account: stranger("rich"), to: owner, value: 1n, stateOverride }), 21_000n);
  });
  await check(`${label}: access list`, async () => {
    const data = encodeFunctionData({ abi, functionName: "setValue", args: [5n] });
    const { accessList } = await client.createAccessList({ to: demo.address, data });
    assert.deepEqual(accessList, [{ address: demo.address, storageKeys: [numberToHex(0, { size: 32 })] }]);
  });
  await check(`${label}: simulated blocks`, async () => {
    const { results } = await client.simulateCalls({
      account, calls: [{ to: demo.address, abi, functionName: "setValue", args: [5n] }, { to: demo.address, abi, functionName: "value" }],
    });
    assert.deepEqual(results.map((r) => r.status), ["success", "success"]);
    assert.equal(results[1].result, 5n);
  });
  await check(`${label}: a signed message`, async () => {
    const signature = await account.signMessage({ message: "hello" });
    assert.equal(await client.verifyMessage({ address: account.address, message: "hello", signature }), true);
  });
}

async function reverts(label, client, network) {
  const demo = demoOf(network);
  const revertsWith = async (functionName) => revertOf(await failure(client.readContract({ ...demo, functionName })));
  await check(`${label}: reason of a revert`, async () => {
    const revert = await revertsWith("failWithReason");
    assert.deepEqual([revert.reason, revert.data.errorName], ["demo: always fails", "Error"]);
  });
  await check(`${label}: custom error`, async () => {
    const revert = await revertsWith("failWithCustomError");
    assert.deepEqual([revert.data.errorName, revert.data.args], ["InsufficientDemo", [1n, 2n]]);
    assert.deepEqual(decodeErrorResult({ abi, data: revert.raw }).args, [1n, 2n]);
  });
  await check(`${label}: panic`, async () => {
    const revert = await revertsWith("failWithPanic");
    assert.deepEqual([revert.data.errorName, revert.data.args], ["Panic", [1n]]);
  });
  await check(`${label}: reverts while estimating`, async () => {
    const call = { ...demo, account: stranger("poor"), functionName: "transfer", args: [owner, 5n] };
    assert.deepEqual(revertOf(await failure(client.estimateContractGas(call))).data.args, [0n, 5n]);
    assert.deepEqual(revertOf(await failure(client.simulateContract(call))).data.args, [0n, 5n]);
    const write = client.writeContract({ ...call, account, args: [owner, 10n ** 9n] });
    assert.equal(revertOf(await failure(write)).data.errorName, "InsufficientDemo");
  });
}

async function send(label, client, network) {
  const demo = demoOf(network);
  const to = stranger(label);
  await check(`${label}: a contract call is mined`, async () => {
    const { request } = await client.simulateContract({ ...demo, account, functionName: "transfer", args: [to, 3n] });
    const receipt = await client.waitForTransactionReceipt({ hash: await client.writeContract(request) });
    assert.deepEqual([receipt.status, receipt.type, receipt.from], ["success", "eip1559", account.address.toLowerCase()]);
    const [log] = parseEventLogs({ abi, logs: receipt.logs });
    assert.deepEqual([log.eventName, log.args], ["Transfer", { from: account.address, to, value: 3n }]);
    const balance = { ...demo, functionName: "balanceOf", args: [to] };
    assert.equal(await client.readContract({ ...balance, blockNumber: receipt.blockNumber }), 3n);
    assert.equal(await client.readContract(balance), 3n);
  });
  const accessList = [{ address: demo.address, storageKeys: [numberToHex(0, { size: 32 })] }];
  for (const fields of [{ type: "legacy" }, { type: "eip2930", accessList }, { type: "eip1559" }]) {
    await check(`${label}: a transfer of type ${fields.type} is mined`, async () => {
      const before = await client.getBalance({ address: to });
      const receipt = await client.waitForTransactionReceipt({ hash: await client.sendTransaction({ to, value: 5n, ...fields }) });
      assert.deepEqual([receipt.status, receipt.type], ["success", fields.type]);
      assert.equal(await client.getBalance({ address: to, blockNumber: receipt.blockNumber }), before + 5n);
    });
  }
  await check(`${label}: a code delegation is mined`, () => delegate(client, network));
  await check(`${label}: a contract is created`, async () => {
    const hash = await client.deployContract({ abi, bytecode: input.code });
    const { contractAddress: address } = await client.waitForTransactionReceipt({ hash });
    assert.equal(await client.readContract({ address, abi, functionName: "balanceOf", args: [account.address] }), 1_000_000n);
    assert.equal(await client.getCode({ address }), await client.getCode({ address: demo.address }));
  });
  await check(`${label}: a receipt in one request`, async () => {
    const receipt = await client.sendTransactionSync({ to, value: 6n });
    assert.deepEqual([receipt.status, receipt.to], ["success", to.toLowerCase()]);
    assert.equal(keccak256(await client.getRawTransaction({ hash: receipt.transactionHash })), receipt.transactionHash);
    assert.ok((await client.getTransactionConfirmations({ transactionReceipt: receipt })) >= 1n);
  });
  await check(`${label}: a used nonce is refused`, async () => {
    const err = await failure(client.sendTransaction({ to, value: 1n, nonce: 0, gas: 21_000n }));
    assert.ok(err.walk((e) => e instanceof NonceTooLowError), err);
  });
  await check(`${label}: too little money is refused`, async () => {
    const poor = privateKeyToAccount(generatePrivateKey());
    const err = await failure(client.sendTransaction({ account: poor, to, value: 1n, gas: 21_000n }));
    assert.ok(err.walk((e) => e.name === "InsufficientFundsError"), err);
  });
}

/** delegate lets a fresh account run the demo contract's code, paid by the client's. */
async function delegate(client, network) {
  const fresh = privateKeyToAccount(generatePrivateKey());
  const authorization = await client.signAuthorization({ account: fresh, contractAddress: network.facts.demo });
  const data = encodeFunctionData({ abi, functionName: "setValue", args: [8n] });
  const hash = await client.sendTransaction({ authorizationList: [authorization], to: fresh.address, data });
  const receipt = await client.waitForTransactionReceipt({ hash });
  assert.deepEqual([receipt.status, receipt.type], ["success", "eip7702"]);
  assert.equal(await client.getDelegation({ address: fresh.address }), getAddress(network.facts.demo));
  assert.equal(await client.readContract({ address: fresh.address, abi, functionName: "value" }), 8n);
}

/**
 * watching sends a transfer while start watches, and returns the receipt and the
 * first event that matches it. Other clients' blocks and transactions arrive too.
 */
async function watching(client, network, to, start, matches) {
  const seen = [];
  let broken;
  client.begun.length = 0;
  const stop = start((...events) => seen.push(...events), (err) => (broken = err));
  await until(() => client.begun[0]); // a subscription, a filter or the first block of a poll
  const hash = await client.writeContract({ ...demoOf(network), functionName: "transfer", args: [to, 1n] });
  const receipt = await client.waitForTransactionReceipt({ hash });
  const event = await until(() => broken ?? seen.find((event) => matches(event, receipt)));
  stop();
  if (broken) throw broken;
  return [event, receipt];
}

async function events(label, client, network) {
  const to = stranger(`${label} events`);
  await check(`${label}: new heads arrive`, async () => {
    const [block, receipt] = await watching(client, network, to,
      (onBlock, onError) => client.watchBlocks({ onBlock: (block) => onBlock(block), onError, emitMissed: true }),
      (block, receipt) => block.hash === receipt.blockHash);
    assert.equal(block.number, receipt.blockNumber);
  });
  await check(`${label}: logs arrive`, async () => {
    const [log, receipt] = await watching(client, network, to,
      (onLogs, onError) => client.watchContractEvent({
        ...demoOf(network), eventName: "Transfer", args: { to }, onLogs: (logs) => onLogs(...logs), onError,
      }),
      (log, receipt) => log.transactionHash === receipt.transactionHash);
    assert.equal(log.blockHash, receipt.blockHash);
    assert.deepEqual(log.args, { from: account.address, to, value: 1n });
  });
  await check(`${label}: pending transactions arrive`, async () => {
    await watching(client, network, to,
      (onHashes, onError) => client.watchPendingTransactions({ onTransactions: (hashes) => onHashes(...hashes), onError }),
      (hash, receipt) => hash === receipt.transactionHash);
  });
}

async function batches() {
  await check("http: one batch for calls of one moment", async () => {
    let requests = 0;
    const client = http(devnet, { batch: true, onFetchRequest: () => void requests++ });
    const results = await Promise.allSettled([
      client.getBlockNumber(), client.getBalance({ address: owner }), client.request({ method: "eth_nothing" }),
      client.getStorageAt({ address: devnet.facts.demo, slot: "0x0", ...headOf(devnet) }),
      ...devnet.facts.transactions.map(({ hash }) => client.getTransaction({ hash })),
    ]);
    assert.equal(requests, 1);
    assert.deepEqual(results.flatMap((r, n) => (r.status === "rejected" ? [n] : [])), [2]);
    assert.equal(results[3].value, devnet.facts.value.word);
    assert.deepEqual(results.slice(4).map((r) => r.value.hash), devnet.facts.transactions.map((tx) => tx.hash));
  });
}

async function errors(label, client) {
  await check(`${label}: unknown method`, async () => {
    const err = await failure(client.request({ method: "eth_nothing" }));
    assert.ok(err instanceof MethodNotFoundRpcError, err);
    assert.equal(codeOf(err), -32601);
  });
  await check(`${label}: bad parameter`, async () => {
    const err = await failure(client.getStorageAt({ address: "0x12", slot: "0x0" }));
    assert.equal(codeOf(err), -32602);
  });
}

async function closedDoors() {
  // viem reads the envelope of any status and has a name for some codes.
  for (const [name, address, kind, code, message] of [
    ["bad key", input.badKey.http, "RpcRequestError", -32041, "invalid API key"],
    ["unknown network", input.unknown.http, "ResourceNotFoundRpcError", -32001, "unknown network"],
  ]) {
    await check(`http: ${name}`, async () => {
      const err = await failure(createPublicClient({ transport: httpTransport(address) }).getBlockNumber());
      assert.deepEqual([err.name, err.code, err.details], [kind, code, message]);
    });
  }
  await check("ws: bad key", async () => {
    const transport = webSocket(input.badKey.ws, { reconnect: false, retryCount: 0 });
    const err = await failure(createWalletClient({ transport }).getChainId());
    assert.match(err.details, /401/);
  });
}

async function layer2(label, client) {
  const { facts } = rollup;
  const call = { account, to: facts.demo, data: encodeFunctionData({ abi, functionName: "setValue", args: [1n] }) };
  await check(`${label}: fees of the rollup`, async () => {
    // Pinned to a block: other clients change the value meanwhile, and with it the gas.
    const pinned = { ...call, ...headOf(rollup) };
    const estimate = await estimateLineaGas(client, pinned);
    assert.equal(estimate.baseFeePerGas, 7n);
    // Prepared, viem would take the gas of eth_fillTransaction, which knows no block.
    assert.equal(estimate.gasLimit, await client.estimateGas({ ...pinned, prepare: false }));
    assert.ok(estimate.priorityFeePerGas > 1_000_000n);
    assert.equal((await estimateLineaGas(client, call)).baseFeePerGas, 7n);
    const hash = await client.sendTransaction({
      ...call, gas: estimate.gasLimit, maxPriorityFeePerGas: estimate.priorityFeePerGas,
      maxFeePerGas: estimate.priorityFeePerGas + estimate.baseFeePerGas,
    });
    assert.equal((await client.waitForTransactionReceipt({ hash })).status, "success");
  });
  await check(`${label}: fees of the rollup with overrides`, async () => {
    const poor = stranger("poor on the rollup");
    const transfer = { account: poor, to: owner, value: 1n };
    assert.ok(await failure(estimateLineaGas(client, transfer)));
    const estimate = await estimateLineaGas(client, { ...transfer, stateOverride: [{ address: poor, balance: 10n ** 18n }] });
    assert.equal(estimate.gasLimit, 21_000n);
  });
  await check(`${label}: a receipt outside of the window is refused`, async () => {
    const err = await failure(client.getTransactionReceipt({ hash: txOf(rollup, "legacy call").hash }));
    assert.equal(codeOf(err), -32002);
  });
}

async function everything(kind, open) {
  for (const network of [devnet, rollup]) {
    const client = open(network);
    const label = `${kind} ${network.facts.name}`;
    for (const part of [blocks, transactions, state, calls, reverts, send, events, errors]) {
      await part(label, client, network);
    }
  }
  await failedTransactions(`${kind} devnet`, open(devnet));
  await layer2(`${kind} rollup`, open(rollup));
}

await everything("http", http);
await everything("ws", socket);
await batches();
await closedDoors();
finish();
