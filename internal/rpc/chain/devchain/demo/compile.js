// Compiles Demo.sol to Demo.bin (creation code, hex) and Demo.abi.json.
// Usage: npm install solc@0.8.37 && node compile.js
const fs = require("fs");
const path = require("path");
const solc = require("solc");

const at = (name) => path.join(__dirname, name);
const input = {
  language: "Solidity",
  sources: { "Demo.sol": { content: fs.readFileSync(at("Demo.sol"), "utf8") } },
  settings: {
    evmVersion: "cancun",
    optimizer: { enabled: true, runs: 200 },
    // Without the metadata trailer the code depends on the source alone.
    metadata: { bytecodeHash: "none", appendCBOR: false },
    outputSelection: { "*": { "*": ["abi", "evm.bytecode.object", "storageLayout"] } },
  },
};

const output = JSON.parse(solc.compile(JSON.stringify(input)));
for (const e of output.errors ?? []) console.error(e.formattedMessage);
if ((output.errors ?? []).some((e) => e.severity === "error")) process.exit(1);

const demo = output.contracts["Demo.sol"].Demo;
fs.writeFileSync(at("Demo.bin"), demo.evm.bytecode.object + "\n");
fs.writeFileSync(at("Demo.abi.json"), JSON.stringify(demo.abi, null, 2) + "\n");
for (const s of demo.storageLayout.storage) console.log(`slot ${s.slot}: ${s.label}`);
console.log(`solc ${solc.version()}`);
