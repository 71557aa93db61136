// A Kubo client against the storage gateway: what users of such a service do with it.
// Both libraries have the same calls, so one script serves both.

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { check, failure, finish, input } from "./harness.mjs";
import { all, bytes, client, collect, connect, hello, library, missing } from "./storageclient.mjs";

const big = bytes(5 * 1024 * 1024 + 17, input.seed);
let bigCID;

await check("version", async () => {
  assert.equal((await client.version()).version, "0.43.0");
});

await check("add a file", async () => {
  const added = await client.add("hello");
  assert.equal(added.cid.toString(), hello);
  assert.equal(added.size, 13);
});

await check("add a large file with progress", async () => {
  const seen = [];
  const added = await client.add({ path: "big", content: big }, { progress: (n) => seen.push(n) });
  bigCID = added.cid;
  assert.equal(added.path, "big");
  assert.equal(seen.at(-1), big.length);
  assert.ok(seen.length > 10, `${seen.length} lines of progress`);
});

await check("add a stream", async () => {
  async function* pieces() {
    for (let at = 0; at < big.length; at += 100_000) yield big.subarray(at, at + 100_000);
  }
  const added = await client.add(pieces());
  assert.equal(added.cid.toString(), bigCID.toString());
});

await check("add many files", async () => {
  const files = Array.from({ length: 500 }, (_, i) => ({ path: `many/${i}`, content: bytes(1000, input.seed + i) }));
  const added = await all(client.addAll(files, { pin: false }));
  assert.equal(added.length, files.length + 1);
  const root = added.at(-1);
  assert.equal(root.path, "many");
  assert.deepEqual(await collect(client.cat(`${root.cid}/499`)), files[499].content);
});

await check("add a directory in CIDv1 with a wrapper", async () => {
  const files = [{ path: "a.txt", content: "a" }, { path: "sub/b c.txt", content: "b" }];
  const added = await all(client.addAll(files, { wrapWithDirectory: true, cidVersion: 1 }));
  const root = added.at(-1);
  assert.equal(root.path, "");
  assert.equal(root.cid.version, 1);
  assert.equal((await collect(client.cat(`/ipfs/${root.cid}/sub/b c.txt`))).toString(), "b");
  const entries = await all(client.ls(root.cid));
  assert.deepEqual(entries.map((e) => [e.name, e.type]), [["a.txt", "file"], ["sub", "dir"]]);
});

await check("cat", async () => {
  assert.deepEqual(await collect(client.cat(bigCID)), big);
  assert.deepEqual(await collect(client.cat(bigCID, { offset: 262_000, length: 1000 })), big.subarray(262_000, 263_000));
});

await check("get as a tar", async () => {
  const archive = await collect(client.get(bigCID));
  assert.ok(archive.length > big.length && archive.includes(big.subarray(0, 1000)));
});

await check("pins", async () => {
  assert.equal((await client.pin.add(bigCID)).toString(), bigCID.toString());
  const pins = await all(client.pin.ls({ paths: bigCID }));
  assert.deepEqual(pins.map((p) => [p.cid.toString(), p.type]), [[bigCID.toString(), "recursive"]]);
  assert.ok((await all(client.pin.ls({ type: "recursive" }))).length >= 2);
  assert.equal((await client.pin.rm(bigCID)).toString(), bigCID.toString());
  const err = await failure(client.pin.rm(bigCID));
  assert.match(err.message, /not pinned or pinned indirectly/);
  assert.equal(err.response.status, 500);
});

await check("blocks and values", async () => {
  const block = await client.block.put(Buffer.from("a block"));
  assert.equal(Buffer.from(await client.block.get(block)).toString(), "a block");
  const value = await client.dag.put({ a: [1, 2, { b: "c" }] });
  assert.deepEqual((await client.dag.get(value, { path: "a/2" })).value, { b: "c" });
});

await check("archives", async () => {
  const car = await collect(client.dag.export(bigCID));
  const roots = await all(client.dag.import([car]));
  assert.equal(roots[0].root.cid.toString(), bigCID.toString());
});

await check("states and links", async () => {
  const stat = await client.files.stat(`/ipfs/${bigCID}`, { withLocal: true });
  assert.deepEqual([stat.cid.toString(), stat.size, stat.type, stat.local], [bigCID.toString(), big.length, "file", true]);
  const refs = await all(client.refs(bigCID, { recursive: true, unique: true }));
  assert.ok(refs.length > 20 && refs.every((r) => r.ref && !r.err), `${refs.length} refs`);
  assert.equal(await client.resolve(`/ipfs/${bigCID}`), `/ipfs/${bigCID}`);
  assert.ok((await client.repo.stat()).repoSize >= big.length);
  const id = await client.id();
  assert.match(id.id.toString(), /^12D3Koo/);
  assert.match((await failure(client.files.mkdir("/x"))).message, /wrap-with-directory/);
  assert.match((await failure(client.name.publish(`/ipfs/${bigCID}`))).message, /use the CID/);
});

await check("errors of commands", async () => {
  assert.match((await failure(collect(client.cat(missing)))).message, /block was not found locally/);
  assert.match((await failure(client.pin.add(missing))).message, /could not find/);
  const directory = (await all(client.addAll([{ path: "d/x", content: "x" }]))).at(-1).cid;
  assert.match((await failure(collect(client.cat(directory)))).message, /this dag node is a directory/);
});

await check("errors of access", async () => {
  const bad = await failure(connect(input.key, "0".repeat(40)).version());
  assert.equal(bad.response.status, 401);
  assert.match(bad.message, /basic auth failure: invalid API key or API key secret/);
  const none = await failure(library.create({ url: input.url }).version());
  assert.equal(none.response.status, 401);
  const poor = await failure(connect(input.poor.key, input.poor.secret).add("x"));
  assert.equal(poor.response.status, 402);
  assert.match(poor.message, /a billing card is required/);
});

await check("the quota", async () => {
  const small = connect(input.small.key, input.small.secret);
  const err = await failure(small.add(big));
  assert.equal(err.response?.status, 413, String(err));
  assert.match(err.message, /storage quota reached/);
  assert.equal((await small.add("hello")).cid.toString(), hello);
});

await check("the rate limit", async () => {
  const slow = connect(input.slow.key, input.slow.secret);
  const err = await failure(Promise.all(Array.from({ length: 20 }, () => slow.version())));
  assert.equal(err.response?.status, 429, String(err));
  assert.match(err.message, /rate limit exceeded/);
});

await import("./storagecalls.mjs");
finish();
