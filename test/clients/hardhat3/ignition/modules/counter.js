import { buildModule } from "@nomicfoundation/hardhat-ignition/modules";

export default buildModule("Counter", (m) => {
  const counter = m.contract("Counter", [40n]);
  m.call(counter, "increase", [2n]);
  return { counter };
});
