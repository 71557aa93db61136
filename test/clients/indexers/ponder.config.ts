// A Ponder app that indexes the demo contract of the devnet, from the first block on and
// then as it changes.

import { createConfig } from "ponder";

const facts = JSON.parse(process.env.NODEGATE_FACTS!);

export default createConfig({
  chains: { devnet: { id: facts.chainId, rpc: process.env.NODEGATE_URL, ws: process.env.NODEGATE_WS, pollingInterval: 100 } },
  contracts: { Demo: { chain: "devnet", abi: JSON.parse(process.env.NODEGATE_ABI!), address: facts.demo, startBlock: 0 } },
});
