// Helia fetches and verifies a directory from the read gateway, block by block.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { withHTTP } from "@helia/http";
import { unixfs } from "@helia/unixfs";
import { createHeliaLight } from "helia";
import { CID } from "multiformats/cid";

const [gateway, cid, folder] = process.argv.slice(2);
const root = CID.parse(cid);
// Helia asks gateways only after a router has found nothing, as the gateway does.
const helia = await withHTTP(createHeliaLight(), { delegatedRouters: [gateway], recursiveGateways: [gateway], allowInsecure: true, allowLocal: true }).start();
const fs = unixfs(helia);
let checks = 0;

const names = [];
for await (const entry of fs.ls(root)) names.push(entry.name);
assert.deepEqual(names.sort(), ["big.bin", "sub"]);
checks++;

for (const path of ["big.bin", "sub/hello.txt"]) {
  const pieces = [];
  for await (const piece of fs.cat(root, { path })) pieces.push(piece);
  assert.deepEqual(Buffer.concat(pieces), readFileSync(`${folder}/${path}`));
  checks++;
}
await helia.stop();
console.log(`ok ${checks} checks`);
