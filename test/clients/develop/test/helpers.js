// Every network helper of Hardhat, and Ignition, on nodegate.

const assert = require("node:assert/strict");
const { ethers, ignition, network } = require("hardhat");
const helpers = require("@nomicfoundation/hardhat-network-helpers");
const Counter = require("../ignition/modules/counter");

const { time } = helpers;
const someone = "0x00000000000000000000000000000000000000cc";

describe("network helpers", () => {
  async function deploy() {
    return ethers.deployContract("Counter", [40n]);
  }

  it("mine, mineUpTo and time", async () => {
    const before = await time.latestBlock();
    await helpers.mine();
    await helpers.mine(10, { interval: 60 });
    assert.equal(await time.latestBlock(), before + 11);
    await helpers.mineUpTo(before + 15);
    assert.equal(await time.latestBlock(), before + 15);
    const at = await time.latest();
    await time.increase(3600);
    assert.equal(await time.latest(), at + 3600);
    await time.increaseTo(at + 7200);
    assert.equal(await time.latest(), at + 7200);
    await time.setNextBlockTimestamp(at + 9000);
    await helpers.mine();
    assert.equal(await time.latest(), at + 9000);
  });

  it("sets state", async () => {
    await helpers.setBalance(someone, 100n ** 18n);
    assert.equal(await ethers.provider.getBalance(someone), 100n ** 18n);
    await helpers.setCode(someone, "0x602a60005260206000f3");
    assert.equal(BigInt(await ethers.provider.call({ to: someone })), 42n);
    await helpers.setNonce(someone, 7);
    assert.equal(await ethers.provider.getTransactionCount(someone), 7);
    await helpers.setStorageAt(someone, 1, 99);
    assert.equal(BigInt(await helpers.getStorageAt(someone, 1)), 99n);
    await helpers.setNextBlockBaseFeePerGas(12345678n);
    await helpers.setCoinbase(someone);
    await helpers.setPrevRandao(5);
    await helpers.mine();
    const block = await ethers.provider.getBlock("latest");
    assert.equal(block.baseFeePerGas, 12345678n);
    assert.equal(block.miner, someone);
    assert.equal(BigInt((await network.provider.send("eth_getBlockByNumber", ["latest", false])).mixHash), 5n);
    await helpers.setBlockGasLimit(40_000_000);
    await helpers.mine();
    assert.equal((await ethers.provider.getBlock("latest")).gasLimit, 40_000_000n);
  });

  it("loads fixtures and takes snapshots", async () => {
    const counter = await helpers.loadFixture(deploy);
    await counter.increase(2n);
    assert.equal(await counter.value(), 42n);
    const again = await helpers.loadFixture(deploy);
    assert.equal(await again.getAddress(), await counter.getAddress());
    assert.equal(await again.value(), 40n);
    const at = await time.latest();
    const snapshot = await helpers.takeSnapshot();
    await time.increase(365 * 24 * 3600);
    await again.increase(5n);
    await snapshot.restore();
    assert.equal(await again.value(), 40n);
    await again.increase(1n);
    assert.ok((await time.latest()) < at + 3600, "the clock went back with the snapshot");
  });

  it("impersonates", async () => {
    const counter = await deploy();
    const address = await counter.getAddress();
    await helpers.setBalance(address, 10n ** 18n);
    const signer = await ethers.getImpersonatedSigner(address);
    const receipt = await (await counter.connect(signer).increase(1n)).wait();
    assert.equal(receipt.from, address);
    assert.equal((await ethers.provider.getTransaction(receipt.hash)).from, address);
    const [event] = await counter.queryFilter(counter.filters.Increased(address), receipt.blockNumber);
    assert.equal(event.args[0], address);
    await helpers.stopImpersonatingAccount(address);
    await assert.rejects(counter.connect(signer).increase(1n));
  });

  it("drops a transaction", async () => {
    const [owner] = await ethers.getSigners();
    await network.provider.send("evm_setAutomine", [false]);
    try {
      const hash = await network.provider.send("eth_sendTransaction", [{ from: owner.address, to: someone, gas: "0x15f90" }]);
      assert.equal(await helpers.dropTransaction(hash), true);
      await helpers.mine();
      assert.equal(await ethers.provider.getTransaction(hash), null);
    } finally {
      await network.provider.send("evm_setAutomine", [true]);
    }
  });

  it("reads right after it has sent", async () => {
    const counter = await deploy();
    for (let i = 1n; i <= 20n; i++) {
      await counter.increase(1n); // nobody waits for the receipt
      assert.equal(await counter.value(), 40n + i);
    }
  });

  it("deploys with Ignition", async () => {
    const { counter } = await ignition.deploy(Counter);
    assert.equal(await counter.value(), 42n);
  });

  it("resets", async () => {
    await helpers.reset();
    assert.equal(await time.latestBlock(), 10);
    assert.equal(await ethers.provider.getBalance(someone), 0n);
    assert.equal(await (await deploy()).value(), 40n);
  });
});
