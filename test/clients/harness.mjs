// What the scripts share: the input from the Go test, and checks that are counted.
// A failed check does not end the script, so that one run shows everything that is wrong.

import { readFileSync } from "node:fs";

/** Where the service is and what is known of it: see scriptInput in scripts_test.go. */
export const input = JSON.parse(readFileSync(0, "utf8"));

const checkTime = 30_000;
const failures = [];
let passed = 0;

/** check runs one named check; it fails by throwing or by taking too long. */
export async function check(name, run) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end after ${checkTime} ms`)), checkTime);
  });
  try {
    await Promise.race([run(), late]);
    passed++;
  } catch (err) {
    failures.push({ name, err });
  } finally {
    clearTimeout(timer);
  }
}

/** finish prints the outcome and ends the process, with sockets and timers still open. */
export function finish() {
  for (const { name, err } of failures) {
    console.log(`FAILED ${name}\n  ${describe(err)}`);
  }
  if (failures.length > 0) {
    console.log(`${failures.length} of ${passed + failures.length} checks failed`);
  } else {
    console.log(`ok ${passed} checks`);
  }
  process.exit(failures.length > 0 ? 1 : 0);
}

/** describe shows where a check failed, and the messages of the errors below. */
function describe(err) {
  const lines = [err?.stack ?? String(err)];
  for (let cause = err?.cause ?? err?.innerError; cause; cause = cause.cause ?? cause.innerError) {
    lines.push(`caused by: ${cause.message ?? JSON.stringify(cause)}`);
  }
  return lines.join("\n").replaceAll("\n", "\n  ");
}

/** failure returns the error that a promise is expected to end with. */
export async function failure(promise) {
  let value;
  try {
    value = await promise;
  } catch (err) {
    return err;
  }
  throw new Error(`succeeded with ${value}, want an error`);
}

/** until asks again and again, for what arrives on its own. */
export async function until(find) {
  for (;;) {
    const found = await find();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** txOf returns the facts of a network's transaction by its name. */
export function txOf(network, name) {
  const tx = network.facts.transactions.find((tx) => tx.name === name);
  if (!tx) throw new Error(`no transaction ${name}`);
  return tx;
}

/** onePerType picks a successful transaction of each type, the newest one. */
export function onePerType(network) {
  const byType = new Map();
  for (const tx of network.facts.transactions) {
    if (tx.status === 1) byType.set(tx.type, tx);
  }
  return [...byType.values()].sort((a, b) => a.type - b.type);
}

// What would otherwise end the process outside of any check.
process.on("unhandledRejection", (err) => failures.push({ name: "unhandled rejection", err }));
process.on("uncaughtException", (err) => failures.push({ name: "uncaught exception", err }));
