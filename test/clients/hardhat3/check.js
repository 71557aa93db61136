// Hardhat 3, its network helpers and Ignition on nodegate: npx hardhat run check.js.

import assert from "node:assert/strict";
import { network } from "hardhat";
import Counter from "./ignition/modules/counter.js";

const { ethers, ignition, networkHelpers, provider } = await network.create("nodegate");
const { time } = networkHelpers;
const someone = "0x00000000000000000000000000000000000000cc";
let checks = 0;

/** check counts what was compared. */
function check(got, want) {
  assert.deepEqual(got, want);
  checks++;
}

async function deploy() {
  return ethers.deployContract("Counter", [40n]);
}

async function minesAndSetsTheClock() {
  const before = await time.latestBlock();
  await networkHelpers.mine();
  await networkHelpers.mine(10, { interval: 60 });
  check(await time.latestBlock(), before + 11);
  await networkHelpers.mineUpTo(before + 15);
  check(await time.latestBlock(), before + 15);
  const at = await time.latest();
  await time.increase(3600);
  check(await time.latest(), at + 3600);
  await time.increaseTo(at + 7200);
  check(await time.latest(), at + 7200);
  await time.setNextBlockTimestamp(at + 9000);
  await networkHelpers.mine();
  check(await time.latest(), at + 9000);
}

async function setsState() {
  await networkHelpers.setBalance(someone, 100n ** 18n);
  check(await ethers.provider.getBalance(someone), 100n ** 18n);
  await networkHelpers.setCode(someone, "0x602a60005260206000f3");
  check(BigInt(await ethers.provider.call({ to: someone })), 42n);
  await networkHelpers.setNonce(someone, 7);
  check(await ethers.provider.getTransactionCount(someone), 7);
  await networkHelpers.setStorageAt(someone, 1, 99);
  check(BigInt(await networkHelpers.getStorageAt(someone, 1)), 99n);
  await networkHelpers.setNextBlockBaseFeePerGas(12345678n);
  await networkHelpers.setCoinbase(someone);
  await networkHelpers.setPrevRandao(5);
  await networkHelpers.mine();
  const block = await ethers.provider.getBlock("latest");
  check([block.baseFeePerGas, block.miner], [12345678n, ethers.getAddress(someone)]);
  check(BigInt((await provider.request({ method: "eth_getBlockByNumber", params: ["latest", false] })).mixHash), 5n);
  await networkHelpers.setBlockGasLimit(40_000_000);
  await networkHelpers.mine();
  check((await ethers.provider.getBlock("latest")).gasLimit, 40_000_000n);
}

async function loadsFixturesAndTakesSnapshots() {
  const counter = await networkHelpers.loadFixture(deploy);
  await counter.increase(2n);
  check(await counter.value(), 42n);
  const again = await networkHelpers.loadFixture(deploy);
  check([await again.getAddress(), await again.value()], [await counter.getAddress(), 40n]);
  const snapshot = await networkHelpers.takeSnapshot();
  await again.increase(5n);
  await snapshot.restore();
  check(await again.value(), 40n);
}

async function impersonates() {
  const counter = await deploy();
  const address = await counter.getAddress();
  await networkHelpers.setBalance(address, 10n ** 18n);
  const signer = await ethers.getImpersonatedSigner(address);
  const receipt = await (await counter.connect(signer).increase(1n)).wait();
  check(receipt.from, address);
  await networkHelpers.stopImpersonatingAccount(address);
  await assert.rejects(counter.connect(signer).increase(1n));
  checks++;
}

async function dropsATransaction() {
  const [owner] = await ethers.getSigners();
  await provider.request({ method: "evm_setAutomine", params: [false] });
  try {
    const hash = await provider.request({ method: "eth_sendTransaction", params: [{ from: owner.address, to: someone, gas: "0x15f90" }] });
    check(await networkHelpers.dropTransaction(hash), true);
    await networkHelpers.mine();
    check(await ethers.provider.getTransaction(hash), null);
  } finally {
    await provider.request({ method: "evm_setAutomine", params: [true] });
  }
}

async function deploysWithIgnition() {
  const { counter } = await ignition.deploy(Counter);
  check(await counter.value(), 42n);
}

await minesAndSetsTheClock();
await setsState();
await loadsFixturesAndTakesSnapshots();
await impersonates();
await dropsATransaction();
await deploysWithIgnition();
console.log(`ok ${checks} checks`);
