// A Hardhat project that uses nodegate as it would use Hardhat's own network: without keys,
// with the accounts that the node offers.

const { subtask } = require("hardhat/config");
const { TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD } = require("hardhat/builtin-tasks/task-names");
require("@nomicfoundation/hardhat-ethers");
require("@nomicfoundation/hardhat-ignition-ethers");

const compiler = require("solc/package.json").version;

// The compiler comes from npm, at the version of the lock file: Hardhat would download one.
subtask(TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD, async () => ({
  compilerPath: require.resolve("solc/soljson.js"),
  isSolcJs: true,
  version: compiler,
  longVersion: compiler,
}));

module.exports = {
  solidity: compiler,
  defaultNetwork: "nodegate",
  networks: { nodegate: { url: process.env.NODEGATE_URL } },
};
