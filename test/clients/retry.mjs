// How long each library waits after a 429 with a Retry-After: the delays of its timers that
// run out, in milliseconds. Time is a hundred times faster here. The answer is JSON.

const delays = [];
const plain = globalThis.setTimeout;
const library = /node_modules\/(viem|ethers|@ethersproject)/; // Node's own fetch has timers too
globalThis.setTimeout = (run, ms = 0, ...rest) => {
  const own = library.test(new Error().stack);
  return plain(() => {
    if (own) delays.push(ms);
    run(...rest);
  }, ms / 100);
};

const { createPublicClient, http } = await import("viem");
const { JsonRpcProvider, Network } = await import("ethers");
const { ethers: ethers5 } = await import("ethers5");
const { input } = await import("./harness.mjs");

const one = Network.from(1337);
const libraries = {
  viem: (url) => createPublicClient({ transport: http(url) }).request({ method: "eth_blockNumber" }),
  ethers6: (url) => new JsonRpcProvider(url, one, { staticNetwork: one, batchStallTime: 0 }).send("eth_blockNumber", []),
  ethers5: (url) => new ethers5.providers.StaticJsonRpcProvider(url, 1337).send("eth_blockNumber", []),
};

const waits = {};
for (const [library, ask] of Object.entries(libraries)) {
  waits[library] = {};
  for (const [form, url] of Object.entries(input[library])) {
    delays.length = 0;
    let end = "answered";
    try {
      await ask(url);
    } catch (err) {
      end = err.shortMessage ?? err.reason ?? err.message;
    }
    waits[library][form] = { end, delays: delays.filter((ms) => ms > 0) };
  }
}
console.log(JSON.stringify(waits));
process.exit(0);
