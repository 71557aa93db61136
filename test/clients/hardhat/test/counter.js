// What a contract's own tests do: deploy, call, send, read events, and expect reverts.

const assert = require("node:assert/strict");
const { ethers, network } = require("hardhat");

/** rejection is the error that a promise ends with. */
async function rejection(promise) {
  try {
    await promise;
  } catch (err) {
    return err;
  }
  throw new Error("succeeded, want an error");
}

describe("Counter", () => {
  let counter, owner, other;

  before(async () => {
    [owner, other] = await ethers.getSigners();
    counter = await ethers.deployContract("Counter", [40n], { value: 1000n });
    await counter.waitForDeployment();
  });

  it("runs on nodegate's devnet", async () => {
    assert.equal(network.name, "nodegate");
    assert.equal((await ethers.provider.getNetwork()).chainId, BigInt(process.env.NODEGATE_CHAIN));
  });

  it("has the state of its constructor", async () => {
    assert.equal(await counter.value(), 40n);
    assert.equal(await counter.owner(), owner.address);
    assert.equal(await ethers.provider.getBalance(counter), 1000n);
  });

  it("changes state and emits an event", async () => {
    const receipt = await (await counter.increase(2n)).wait();
    assert.equal(receipt.status, 1);
    assert.equal(await counter.value(), 42n);
    const [event] = await counter.queryFilter(counter.filters.Increased(owner.address), receipt.blockNumber);
    assert.deepEqual([event.args.value, event.transactionHash], [42n, receipt.hash]);
  });

  it("reads the past", async () => {
    const before = await ethers.provider.getBlockNumber();
    await (await counter.increase(1n)).wait();
    assert.equal(await counter.value(), 43n);
    assert.equal(await counter.value({ blockTag: before }), 42n);
  });

  it("takes each form of transaction", async () => {
    // Hardhat chooses the type by the fields, and fills in what is missing from the node's fees.
    const { gasPrice, maxFeePerGas, maxPriorityFeePerGas } = await ethers.provider.getFeeData();
    const forms = [{ gasPrice }, { gasPrice, accessList: [] }, { maxFeePerGas, maxPriorityFeePerGas }];
    for (const [type, fields] of forms.entries()) {
      const sent = await counter.connect(other).increase(1n, fields);
      assert.equal((await sent.wait()).status, 1);
      assert.equal((await ethers.provider.getTransaction(sent.hash)).type, type);
    }
  });

  it("shows the reason of a revert", async () => {
    assert.match((await rejection(counter.increase(0n))).message, /by must be positive/);
    assert.match((await rejection(counter.increase.staticCall(0n))).message, /by must be positive/);
  });

  it("shows a custom error", async () => {
    const err = await rejection(counter.connect(other).withdraw.staticCall(other.address));
    const { name, args } = counter.interface.parseError(err.data);
    assert.deepEqual([name, ...args], ["NotOwner", other.address]);
  });

  it("mines a transaction that fails", async () => {
    const sent = await counter.connect(other).withdraw(other.address, { gasLimit: 100_000n });
    await rejection(sent.wait());
    assert.equal((await ethers.provider.getTransactionReceipt(sent.hash)).status, 0);
  });

  it("pays out", async () => {
    const to = ethers.Wallet.createRandom().address;
    await (await counter.withdraw(to)).wait();
    assert.equal(await ethers.provider.getBalance(to), 1000n);
  });

  it("sends raw requests", async () => {
    assert.equal(await network.provider.send("eth_chainId"), ethers.toQuantity(process.env.NODEGATE_CHAIN));
    assert.match(await network.provider.send("web3_clientVersion"), /./);
    const err = await rejection(network.provider.send("eth_noSuchMethod"));
    assert.match(err.message, /eth_noSuchMethod/);
  });
});
