// web3.js 4 against the service, over HTTP and over WebSocket.

import assert from "node:assert/strict";
import { Web3, WebSocketProvider } from "web3";
import { check, failure, finish, input, onePerType, txOf, until } from "./harness.mjs";

const { abi } = input;
const { devnet, rollup } = input.networks;
const owner = devnet.facts.balance.owner;
const utils = Web3.utils;
const word = (n) => utils.padLeft(utils.toHex(n), 64);

function open(provider) {
  const web3 = new Web3(provider);
  web3.eth.accounts.wallet.add(input.account.privateKey);
  // The chain mines at once; the default asks once a second.
  web3.setConfig({ transactionPollingInterval: 50, transactionReceiptPollingInterval: 50, contractDataInputFill: "input" });
  return web3;
}

const http = (network) => open(network.http);
const socket = (network) => open(new WebSocketProvider(network.ws));

const sender = utils.toChecksumAddress(input.account.address);

/** stranger is an address that only this script and transport sends to. */
const stranger = (label) => utils.toChecksumAddress(`0x${utils.keccak256(`web3 ${label}`).slice(26)}`);

const raw = (web3, method, params) => web3.requestManager.send({ method, params });

const demoOf = (web3, network) => new web3.eth.Contract(abi, network.facts.demo);

/** errorData encodes an error of numbers; errors and calls are encoded alike. */
function errorData(web3, name, ...args) {
  const inputs = args.map((_, n) => ({ name: `arg${n}`, type: "uint256" }));
  return web3.eth.abi.encodeFunctionCall({ name, type: "function", inputs }, args);
}

async function blocks(label, web3, network) {
  const { facts } = network;
  await check(`${label}: chain id`, async () => {
    assert.equal(await web3.eth.getChainId(), BigInt(facts.chainId));
    assert.equal(await web3.eth.net.getId(), BigInt(facts.chainId));
  });
  await check(`${label}: block number`, async () => {
    assert.ok((await web3.eth.getBlockNumber()) >= BigInt(facts.head));
  });
  await check(`${label}: block with transactions`, async () => {
    const block = await web3.eth.getBlock(facts.head, true);
    assert.equal(block.hash, facts.headHash);
    const want = facts.transactions.filter((tx) => tx.block === facts.head).map((tx) => tx.hash);
    assert.deepEqual(block.transactions.map((tx) => tx.hash), want);
  });
  await check(`${label}: tagged blocks`, async () => {
    for (const tag of ["earliest", "latest", "safe", "finalized", "pending"]) {
      assert.ok(await web3.eth.getBlock(tag), tag);
    }
  });
  await check(`${label}: receipts of a block`, async () => {
    const receipts = await raw(web3, "eth_getBlockReceipts", [utils.toHex(facts.head)]);
    const want = facts.transactions.filter((tx) => tx.block === facts.head);
    assert.deepEqual(receipts.map((r) => r.transactionHash), want.map((tx) => tx.hash));
  });
}

async function transactions(label, web3, network) {
  for (const want of onePerType(network)) {
    await check(`${label}: transaction of type ${want.type}`, async () => {
      const tx = await web3.eth.getTransaction(want.hash);
      assert.deepEqual(
        [tx.type, tx.blockNumber, tx.blockHash, tx.transactionIndex].map(String),
        [want.type, want.block, want.blockHash, want.index].map(String));
      assert.equal(tx.hash, want.hash);
      const twin = await web3.eth.getTransactionFromBlock(want.blockHash, want.index);
      assert.deepEqual(twin, tx);
    });
    await check(`${label}: receipt of type ${want.type}`, async () => {
      const receipt = await web3.eth.getTransactionReceipt(want.hash);
      assert.deepEqual(
        [receipt.type, receipt.status, receipt.gasUsed, receipt.logs.length, receipt.blockHash].map(String),
        [want.type, want.status, want.gasUsed, want.logs, want.blockHash].map(String));
    });
  }
  await check(`${label}: an unknown transaction`, async () => {
    const hash = utils.keccak256("0x");
    assert.equal((await failure(web3.eth.getTransactionReceipt(hash))).name, "TransactionNotFound");
  });
}

async function failedTransactions(label, web3) {
  for (const name of ["revert with reason", "panic", "out of gas", "busy custom error"]) {
    await check(`${label}: receipt of «${name}»`, async () => {
      const want = txOf(devnet, name);
      const receipt = await web3.eth.getTransactionReceipt(want.hash);
      assert.deepEqual([receipt.status, receipt.gasUsed], [0n, BigInt(want.gasUsed)]);
    });
  }
  await check(`${label}: receipt of the deployment`, async () => {
    const receipt = await web3.eth.getTransactionReceipt(txOf(devnet, "deploy").hash);
    assert.equal(receipt.contractAddress, devnet.facts.demo);
  });
}

async function state(label, web3, network) {
  const { facts } = network;
  await check(`${label}: storage`, async () => {
    assert.equal(await web3.eth.getStorageAt(facts.demo, 0, facts.head), facts.value.word);
    const slot = utils.keccak256(web3.eth.abi.encodeParameters(["address", "uint256"], [owner, 1]));
    assert.equal(slot, facts.balance.position);
    assert.equal(await web3.eth.getStorageAt(facts.demo, slot, facts.head), facts.balance.word);
  });
  await check(`${label}: proof`, async () => {
    const proof = await web3.eth.getProof(facts.demo, [word(0), facts.balance.position], facts.head);
    const block = await web3.eth.getBlock(facts.head);
    assert.equal(utils.keccak256(proof.accountProof[0]), block.stateRoot);
    assert.equal(utils.keccak256(proof.storageProof[0].proof[0]), proof.storageHash);
    assert.deepEqual(proof.storageProof.map((p) => p.value), [BigInt(facts.value.word), BigInt(facts.balance.word)]);
  });
  await check(`${label}: logs`, async () => {
    const logs = await demoOf(web3, network).getPastEvents("ValueChanged", { fromBlock: 0, toBlock: 10 });
    assert.deepEqual(logs.map((log) => log.returnValues.value), [7n, 2930n, 42n]);
  });
  await check(`${label}: fees`, async () => {
    const fees = await web3.eth.calculateFeeData();
    assert.ok(fees.maxFeePerGas > 0n && fees.gasPrice > 0n);
    const history = await web3.eth.getFeeHistory(3, facts.head, [50]);
    assert.equal(history.baseFeePerGas.length, 4);
  });
}

async function calls(label, web3, network) {
  const { methods } = demoOf(web3, network);
  await check(`${label}: view functions`, async () => {
    assert.equal(await methods.value().call({}, network.facts.head), 42n);
    assert.equal(await methods.balanceOf(owner).call({}, network.facts.head), BigInt(network.facts.balance.word));
    assert.equal(await methods.loop(3).call(), 33n);
  });
  await check(`${label}: gas estimates`, async () => {
    const gas = await methods.setValue(5).estimateGas({ from: sender });
    assert.ok(gas > 21_000n && gas < 60_000n, `${gas}`);
    assert.equal(await web3.eth.estimateGas({ from: sender, to: stranger("estimate"), value: 1 }), 21_000n);
  });
  await check(`${label}: access list`, async () => {
    const { accessList } = await methods.setValue(5).createAccessList({ from: sender });
    assert.deepEqual(accessList, [{ address: network.facts.demo, storageKeys: [word(0)] }]);
  });
}

async function reverts(label, web3, network) {
  const { methods } = demoOf(web3, network);
  await check(`${label}: reason of a revert`, async () => {
    const err = await failure(methods.failWithReason().call());
    assert.equal(err.name, "ContractExecutionError");
    assert.deepEqual([err.innerError.code, err.innerError.message], [3, "execution reverted: demo: always fails"]);
  });
  await check(`${label}: custom error`, async () => {
    const { innerError } = await failure(methods.failWithCustomError().call());
    assert.equal(innerError.errorName, "InsufficientDemo");
    assert.deepEqual([innerError.errorArgs.available, innerError.errorArgs.required], [1n, 2n]);
  });
  await check(`${label}: panic`, async () => {
    const { innerError } = await failure(methods.failWithPanic().call());
    assert.equal(innerError.code, 3);
    // web3.js decodes only the errors of the contract's own interface.
    assert.equal(innerError.data, errorData(web3, "Panic", 1));
  });
  await check(`${label}: reverts while estimating`, async () => {
    const { innerError } = await failure(methods.transfer(owner, 5).estimateGas({ from: stranger("poor") }));
    // Here web3.js does not decode: the data is there for whoever does.
    assert.equal(innerError.data, errorData(web3, "InsufficientDemo", 0, 5));
  });
  await check(`${label}: a doomed transaction is not sent`, async () => {
    const before = await web3.eth.getTransactionCount(sender);
    const err = await failure(methods.failWithReason().send({ from: sender }));
    assert.match(err.innerError.message, /demo: always fails/);
    assert.equal(await web3.eth.getTransactionCount(sender), before);
  });
}

async function send(label, web3, network) {
  const { methods } = demoOf(web3, network);
  const to = stranger(label);
  await check(`${label}: a contract call is mined`, async () => {
    const receipt = await methods.transfer(to, 3).send({ from: sender });
    assert.deepEqual([receipt.status, receipt.type, receipt.from], [1n, 2n, sender.toLowerCase()]);
    const { returnValues } = receipt.events.Transfer;
    assert.deepEqual([returnValues.from, returnValues.to, returnValues.value], [sender, to, 3n]);
    assert.equal(await methods.balanceOf(to).call({}, receipt.blockNumber), 3n);
    assert.equal(await methods.balanceOf(to).call(), 3n);
  });
  const gasPrice = await web3.eth.getGasPrice();
  const accessList = [{ address: network.facts.demo, storageKeys: [word(0)] }];
  // Before it sends, web3.js tries a transaction without data on 21,000 gas unless told
  // otherwise: not enough for an access list.
  for (const fields of [{ type: 0, gasPrice }, { type: 1, gasPrice, accessList, gas: 60_000 }, { type: 2 }]) {
    await check(`${label}: a transfer of type ${fields.type} is mined`, async () => {
      const before = await web3.eth.getBalance(to);
      const receipt = await web3.eth.sendTransaction({ from: sender, to, value: 5, ...fields });
      assert.deepEqual([receipt.status, receipt.type], [1n, BigInt(fields.type)]);
      assert.equal(await web3.eth.getBalance(to, receipt.blockNumber), before + 5n);
    });
  }
  await check(`${label}: a signed transaction is mined`, async () => {
    const fields = { to, value: 7, gas: 21_000, gasPrice: await web3.eth.getGasPrice(), nonce: await web3.eth.getTransactionCount(sender) };
    const signed = await web3.eth.accounts.signTransaction(fields, input.account.privateKey);
    const receipt = await web3.eth.sendSignedTransaction(signed.rawTransaction);
    assert.deepEqual([receipt.status, receipt.transactionHash], [1n, signed.transactionHash]);
  });
  await check(`${label}: a contract is created`, async () => {
    const contract = await new web3.eth.Contract(abi).deploy({ data: input.code }).send({ from: sender });
    assert.equal(await contract.methods.balanceOf(sender).call(), 1_000_000n);
    assert.equal(await web3.eth.getCode(contract.options.address), await web3.eth.getCode(network.facts.demo));
  });
  await check(`${label}: a used nonce is refused`, async () => {
    const err = await failure(web3.eth.sendTransaction({ from: sender, to, value: 1, nonce: 0, gas: 21_000 }));
    assert.match(err.cause.message, /nonce too low/);
  });
}

async function subscriptions(label, web3, network) {
  await check(`${label}: new heads and logs arrive`, async () => {
    const demo = demoOf(web3, network);
    const to = stranger(`${label} subscription`);
    const numbers = [];
    const heads = await web3.eth.subscribe("newHeads");
    heads.on("data", (head) => numbers.push(head.number));
    const transfers = demo.events.Transfer({ filter: { to } });
    const event = new Promise((resolve, reject) => {
      transfers.on("data", resolve);
      transfers.on("error", reject);
    });
    await new Promise((resolve) => transfers.on("connected", resolve));
    const receipt = await demo.methods.transfer(to, 2).send({ from: sender });
    const log = await event;
    assert.deepEqual([log.transactionHash, log.blockHash], [receipt.transactionHash, receipt.blockHash]);
    assert.equal(log.returnValues.value, 2n);
    await until(() => numbers.includes(receipt.blockNumber)); // heads and logs come in no particular order
    await heads.unsubscribe();
    await transfers.unsubscribe();
  });
}

async function batches(label, web3) {
  await check(`${label}: batch`, async () => {
    const batch = new web3.BatchRequest();
    const answers = Promise.allSettled([
      batch.add({ method: "eth_blockNumber", params: [] }),
      batch.add({ method: "eth_nothing", params: [] }),
      batch.add({ method: "eth_getStorageAt", params: [devnet.facts.demo, "0x0", utils.toHex(devnet.facts.head)] }),
    ]);
    await batch.execute();
    const [number, nothing, slot] = await answers;
    assert.ok(BigInt(number.value) >= BigInt(devnet.facts.head));
    assert.equal(slot.value, devnet.facts.value.word);
    assert.equal(nothing.reason.code, -32601);
  });
}

async function errors(label, web3) {
  await check(`${label}: unknown method`, async () => {
    const err = await failure(raw(web3, "eth_nothing", []));
    assert.equal(err.cause.code, -32601);
  });
  await check(`${label}: bad parameter`, async () => {
    const err = await failure(raw(web3, "eth_getStorageAt", ["0x12", "0x0", "latest"]));
    assert.equal(err.cause.code, -32602);
  });
}

async function closedDoors() {
  for (const [name, address, status, code, message] of [
    ["bad key", input.badKey.http, 401, -32041, "invalid API key"], ["unknown network", input.unknown.http, 404, -32001, "unknown network"],
  ]) {
    await check(`http: ${name}`, async () => {
      // web3.js reads the body of every status as JSON: without an envelope this would be a
      // SyntaxError. The envelope's id is null, which keeps its message out of err.message.
      const err = await failure(new Web3(address).eth.getBlockNumber());
      assert.deepEqual([err.name, err.statusCode], ["ResponseError", status]);
      assert.deepEqual(err.cause, { code, message });
    });
  }
  await check("ws: bad key", async () => {
    const provider = new WebSocketProvider(input.badKey.ws, {}, { autoReconnect: false });
    const err = await new Promise((resolve) => provider.on("error", resolve));
    assert.match(err.message, /401/);
  });
}

async function layer2(label, web3) {
  const { methods } = demoOf(web3, rollup);
  await check(`${label}: fees of the rollup`, async () => {
    const call = { from: sender, to: rollup.facts.demo, data: methods.setValue(1).encodeABI() };
    // Pinned to a block: other clients change the value meanwhile, and with it the gas.
    const params = [call, utils.toHex(rollup.facts.head)];
    const estimate = await raw(web3, "linea_estimateGas", params);
    assert.deepEqual(await raw(web3, "layer2_estimateGas", params), estimate);
    assert.equal(BigInt(estimate.baseFeePerGas), 7n);
    assert.equal(BigInt(estimate.gasLimit), await web3.eth.estimateGas(call, rollup.facts.head));
    assert.ok((await raw(web3, "linea_estimateGas", [call])).gasLimit);
    const priority = BigInt(estimate.priorityFeePerGas);
    assert.ok(priority > 1_000_000n);
    const receipt = await web3.eth.sendTransaction({
      ...call, gas: estimate.gasLimit, maxPriorityFeePerGas: priority, maxFeePerGas: priority + BigInt(estimate.baseFeePerGas),
    });
    assert.equal(receipt.status, 1n);
  });
  await check(`${label}: a receipt outside of the window is refused`, async () => {
    const err = await failure(web3.eth.getTransactionReceipt(txOf(rollup, "legacy call").hash));
    assert.equal(err.cause.code, -32002);
  });
}

async function everything(kind, open, parts) {
  for (const network of [devnet, rollup]) {
    const web3 = open(network);
    const label = `${kind} ${network.facts.name}`;
    for (const part of [blocks, transactions, state, calls, reverts, send, errors, batches, ...parts]) {
      await part(label, web3, network);
    }
  }
  await failedTransactions(`${kind} devnet`, open(devnet));
  await layer2(`${kind} rollup`, open(rollup));
}

await everything("http", http, []);
await everything("ws", socket, [subscriptions]);
await closedDoors();
finish();
