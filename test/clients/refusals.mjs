// What each library prints of an error. The answer is JSON: for each case, the text by library.

import { createPublicClient, http } from "viem";
import { FetchRequest, JsonRpcProvider, Network } from "ethers";
import { ethers as ethers5 } from "ethers5";
import { Web3 } from "web3";
import { input } from "./harness.mjs";

/** Each library asks once: what it tries again is another test's matter. */
const libraries = {
  viem: (url, method, params) => createPublicClient({ transport: http(url, { retryCount: 0 }) }).request({ method, params }),
  ethers6(url, method, params) {
    const request = new FetchRequest(url);
    request.setThrottleParams({ maxAttempts: 1 });
    const network = Network.from(1337);
    return new JsonRpcProvider(request, network, { staticNetwork: network }).send(method, params);
  },
  ethers5: (url, method, params) =>
    new ethers5.providers.StaticJsonRpcProvider({ url, throttleLimit: 1 }, 1337).send(method, params),
  web3: (url, method, params) => new Web3(url).requestManager.send({ method, params }),
};

const printed = {
  viem: (err) => `${err.name}: ${err.shortMessage.replaceAll("\n", " ")} Details: ${err.details}`,
  ethers6: (err) => `${err.code}: ${err.shortMessage}`,
  ethers5: (err) => (err.reason ? `${err.code}: ${err.reason}` : err.message),
  web3: (err) => `${err.name}: ${err.message}`,
};

const answers = {};
for (const { name, url, method, params } of input.cases) {
  answers[name] = {};
  for (const [library, ask] of Object.entries(libraries)) {
    try {
      answers[name][library] = `no error: ${JSON.stringify(await ask(url, method, params))}`.slice(0, 200);
    } catch (err) {
      answers[name][library] = printed[library](err);
    }
  }
}
console.log(JSON.stringify(answers));
process.exit(0);
