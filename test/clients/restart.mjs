// Sockets with a subscription, left to themselves: the Go test closes them and counts who
// comes back. The answer is "open" and then nothing, until the test ends the script.

import { createPublicClient, webSocket } from "viem";
import { Network, WebSocketProvider } from "ethers";
import { Web3, WebSocketProvider as Web3Provider } from "web3";
import { input } from "./harness.mjs";

const one = Network.from(1337);

/**
 * Each opens a socket and subscribes to heads, with short delays where it has one, and so
 * many attempts that the time a server needs to start doesn't decide.
 */
const libraries = {
  viem(url) {
    const client = createPublicClient({ transport: webSocket(url, { reconnect: { attempts: 1000, delay: 100 }, retryCount: 0 }) });
    client.watchBlocks({ onBlock() {}, onError() {} });
  },
  async web3(url) {
    const web3 = new Web3(new Web3Provider(url, {}, { delay: 100, maxAttempts: 1000 }));
    web3.provider.on("error", () => {});
    await web3.eth.subscribe("newBlockHeaders");
  },
  async ethers6(url) {
    const provider = new WebSocketProvider(url, one, { staticNetwork: one });
    provider.websocket.onerror = () => {};
    await provider.on("block", () => {});
  },
};

for (const { library, url } of input.sockets) await libraries[library](url);
console.log("open");
process.on("unhandledRejection", () => {});
setTimeout(() => process.exit(1), 300_000); // should the test be gone
