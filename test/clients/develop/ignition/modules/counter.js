const { buildModule } = require("@nomicfoundation/hardhat-ignition/modules");

module.exports = buildModule("Counter", (m) => {
  const counter = m.contract("Counter", [40n]);
  m.call(counter, "increase", [2n]);
  return { counter };
});
