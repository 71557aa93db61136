// A project of Hardhat 3 that uses nodegate as it would use Hardhat's own network: without
// keys, with the accounts that the node offers.

import { createRequire } from "node:module";
import { defineConfig } from "hardhat/config";
import ethers from "@nomicfoundation/hardhat-ethers";
import ignition from "@nomicfoundation/hardhat-ignition-ethers";
import helpers from "@nomicfoundation/hardhat-network-helpers";

const { resolve } = createRequire(import.meta.url);

export default defineConfig({
  plugins: [ethers, ignition, helpers],
  // The compiler comes from npm, at the version of the lock file: Hardhat would download one.
  solidity: { version: "0.8.37", path: resolve("solc/soljson.js") },
  networks: { nodegate: { type: "http", chainType: "l1", url: process.env.NODEGATE_URL } },
});
