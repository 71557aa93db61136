// The calls of Kubo's JavaScript clients one by one: every namespace that they have, what
// is served of it, and what the others say.

import assert from "node:assert/strict";
import { Buffer, File } from "node:buffer";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { check, failure, input } from "./harness.mjs";
import { all, bytes, client, collect, hello, helloV1, library, missing } from "./storageclient.mjs";

const { CID, globSource } = library;
const newest = input.library === "kubo-rpc-client";
const text = async (source) => (await collect(source)).toString();

/** entries reads the names, types and contents of a tar. */
function entries(tar) {
  const list = {};
  for (let at = 0; at + 512 <= tar.length && tar[at] !== 0; ) {
    const field = (from, to) => tar.subarray(at + from, at + to).toString().replace(/\0.*$/s, "");
    const size = parseInt(field(124, 136), 8);
    const kind = field(156, 157);
    if (kind !== "x") list[field(0, 100)] = kind === "5" ? "a folder" : tar.subarray(at + 512, at + 512 + size).toString();
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return list;
}

let root; // a folder: a.txt, empty/, sub/b.txt

for (const [name, options, want] of [
  ["cidVersion", { cidVersion: 1 }, helloV1],
  ["rawLeaves", { rawLeaves: true }, helloV1],
  ["onlyHash", { onlyHash: true }, hello],
  ["pin", { pin: false }, hello],
  ["trickle", { trickle: true }, "QmSYVhw7DFAQTznBx6ZMvX71VKuyfecVBgt8E2iruC7sCC"],
  ["hashAlg", { hashAlg: "sha2-512" }, "bafkrgqe3ohjcjplc6n4f3fwunlj6upltggn7xqujbsvnvyw764srszz4u4rshq6ztos4chl4plgg4ffyyxnayrtdi5oc4xb2332g645433aeg"],
  ["chunker", { chunker: "size-2" }, "QmePCzGD2XAwU6sL1MJMrVCkxFmnwNwzf7Z34H7Zn7Yw35"],
]) {
  await check(`add with ${name}`, async () => {
    assert.equal((await client.add("hello", options)).cid.toString(), want);
  });
}

await check("add with a mode and a time", async () => {
  const added = await client.add({ path: "x", content: "x", mode: 0o640, mtime: { secs: 1_700_000_000, nsecs: 7 } }, { preserveMode: true, preserveMtime: true });
  assert.equal(added.mode, 0o640);
  assert.deepEqual({ ...added.mtime }, { secs: 1_700_000_000, nsecs: 7 });
  const stat = await client.files.stat(`/ipfs/${added.cid}`);
  assert.deepEqual([stat.mode, stat.mtime?.secs], [0o640, 1_700_000_000]);
});

await check("add a folder of the disk", async () => {
  const dir = mkdtempSync(join(tmpdir(), "nodegate-"));
  mkdirSync(join(dir, "empty"));
  mkdirSync(join(dir, "sub"));
  writeFileSync(join(dir, "a.txt"), "a");
  writeFileSync(join(dir, "sub", "b.txt"), "b");
  const seen = [];
  const added = await all(client.addAll(globSource(dir, "**/*"), { wrapWithDirectory: true, progress: (n, path) => seen.push([path, n]) }));
  root = added.at(-1).cid;
  assert.deepEqual(added.map((a) => a.path).sort(), ["", "a.txt", "empty", "sub", "sub/b.txt"]);
  assert.ok(seen.some(([path, n]) => path === "a.txt" && n === 1), JSON.stringify(seen));
});

await check("add other sources", async () => {
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue(Buffer.from("hel"));
      controller.enqueue(Buffer.from("lo"));
      controller.close();
    },
  });
  for (const source of [new Blob(["hello"]), Buffer.from("hello"), [Buffer.from("hel"), Buffer.from("lo")], stream, new File(["hello"], "hello.txt")]) {
    assert.equal((await client.add(source)).cid.toString(), hello, String(source));
  }
  assert.equal((await client.add("")).cid.toString(), "QmbFMke1KXqnYyBBWxB74N4c5SBnJMVAiMNRcGu6x1AwQH");
  assert.equal((await client.add({ path: "empty" })).cid.toString(), "QmUNLLsPACCz1vLxQVkXqqLX5R1X345qqfHbsf67hvA3Nn");
});

await check("names that have to be escaped", async () => {
  const names = ["100%.txt", "%41", "a+b", "a b", 'a"b', "a;b&c=d", "a\\b", "a#b?c", "ü日本", "'", ".hidden", "a:b", "<x>"];
  const added = await all(client.addAll(names.map((path) => ({ path, content: `content of ${path}` })), { wrapWithDirectory: true }));
  const folder = added.at(-1).cid;
  assert.deepEqual((await all(client.ls(folder))).map((e) => e.name), [...names].sort());
  for (const name of names) {
    assert.equal(await text(client.cat(`${folder}/${name}`)), `content of ${name}`);
  }
});

await check("cat parts of a file", async () => {
  const data = bytes(600_000, input.seed + 7);
  const { cid } = await client.add(data);
  for (const [offset, length] of [[0, 1], [262_143, 2], [599_999, 10], [600_000, 1]]) {
    assert.deepEqual(await collect(client.cat(cid, { offset, length })), data.subarray(offset, offset + length));
  }
  assert.deepEqual(await collect(client.cat(cid, { offset: 599_000 })), data.subarray(599_000));
});

await check("get a file and a folder", async () => {
  assert.deepEqual(entries(await collect(client.get(hello))), { [hello]: "hello" });
  assert.deepEqual(entries(await collect(client.get(root))), {
    [root]: "a folder", [`${root}/a.txt`]: "a", [`${root}/empty`]: "a folder", [`${root}/sub`]: "a folder", [`${root}/sub/b.txt`]: "b",
  });
  assert.equal(gunzipSync(await collect(client.get(hello, { compress: true, compressionLevel: 5 }))).toString(), "hello");
  assert.equal(entries(gunzipSync(await collect(client.get(root, { archive: true, compress: true, compressionLevel: 5 }))))[`${root}/a.txt`], "a");
});

await check("ls", async () => {
  const list = await all(client.ls(root));
  assert.deepEqual(list.map((e) => [e.name, e.type, e.size]), [["a.txt", "file", 1], ["empty", "dir", 0], ["sub", "dir", 0]]);
  assert.deepEqual((await all(client.ls(`/ipfs/${root}/sub`))).map((e) => [e.name, e.path]), [["b.txt", `/ipfs/${root}/sub/b.txt`]]);
  assert.equal((await all(client.ls(hello))).length, 1); // the client's answer for a file
  assert.match((await failure(all(client.ls(`${root}/none`)))).message, /no link named "none"/);
});

await check("blocks", async () => {
  const raw = await client.block.put(Buffer.from("a block"));
  assert.equal(raw.toString(), "bafkreieszcozqu5c6vyw2krdmm7ina227ks5iijvqdn64cce6u3wpuutza");
  const stat = await client.block.stat(raw);
  assert.deepEqual([stat.cid.toString(), stat.size], [raw.toString(), 7]);
  const pinned = await client.block.put(Buffer.from("a pinned block"), { pin: true, mhtype: "sha2-512" });
  assert.deepEqual((await all(client.pin.ls({ paths: pinned }))).map((p) => p.type), ["recursive"]);
  const node = await client.block.get(root);
  assert.equal((await client.block.put(node, { format: "v0" })).toString(), root.toString());
  assert.equal((await client.block.put(node, { format: "dag-pb" })).code, 0x70);
  assert.match((await failure(client.block.get(CID.parse(missing)))).message, /could not find/);
  assert.match((await failure(all(client.block.rm(raw)))).message, /pin\/rm/);
});

await check("values", async () => {
  const leaf = await client.dag.put({ name: "leaf" }, { storeCodec: "dag-json" });
  const tree = await client.dag.put({ list: [leaf, { deep: true }], bytes: Buffer.from("abc") }, { pin: true });
  assert.deepEqual([leaf.code, tree.code], [0x0129, 0x71]);
  assert.deepEqual((await client.dag.get(tree)).value.list[1], { deep: true });
  assert.equal((await client.dag.get(tree, { path: "list/0/name" })).value, "leaf");
  const inside = await client.dag.resolve(tree, { path: "list/1/deep" });
  assert.deepEqual([inside.cid.toString(), inside.remainderPath], [tree.toString(), "/list/1/deep"]);
  assert.equal((await client.dag.resolve(`${tree}/list/0`)).cid.toString(), leaf.toString());
  assert.deepEqual((await all(client.pin.ls({ paths: tree }))).map((p) => p.type), ["recursive"]);
  const encoded = await client.dag.put(Buffer.from('{"a":1}'), { inputCodec: "dag-json", storeCodec: "dag-cbor" });
  assert.deepEqual((await client.dag.get(encoded)).value, { a: 1 });
  const folder = await client.dag.get(root);
  assert.deepEqual(folder.value.Links.map((l) => l.Name), ["a.txt", "empty", "sub"]);
  assert.equal((await client.dag.put(folder.value, { storeCodec: "dag-pb" })).toV0().toString(), root.toString());
});

await check("archives", async () => {
  const car = await collect(client.dag.export(root));
  assert.deepEqual(await all(client.dag.import([car], { pinRoots: false })), []);
  const [first] = await all(client.dag.import([car]));
  assert.deepEqual([first.root.cid.toString(), first.root.pinErrorMsg], [root.toString(), ""]);
  assert.match((await failure(all(client.dag.import([Buffer.from("no archive")])))).message, /unexpected EOF|import failed/);
});

await check("pins one by one", async () => {
  const { cid } = await client.add("to be pinned", { pin: false });
  assert.match((await failure(all(client.pin.ls({ paths: cid })))).message, /is not pinned/);
  await client.pin.add(cid, { recursive: false });
  assert.deepEqual((await all(client.pin.ls({ paths: [cid] }))).map((p) => p.type), ["direct"]);
  assert.match((await failure(client.pin.ls({ type: "nonsense" })[Symbol.asyncIterator]().next())).message, /invalid type 'nonsense'/);
  await client.pin.rm(cid, { recursive: false });
  assert.match((await failure(client.pin.rm(cid))).message, /not pinned or pinned indirectly/);
});

await check("pins together", async () => {
  const cids = [];
  for (const content of ["one", "two"]) cids.push((await client.add(content, { pin: false })).cid);
  assert.deepEqual((await all(client.pin.addAll(cids))).map(String), cids.map(String));
  const listed = new Set((await all(client.pin.ls({ type: "recursive" }))).map((p) => p.cid.toString()));
  assert.ok(cids.every((c) => listed.has(c.toString())));
  assert.deepEqual((await all(client.pin.rmAll(cids))).map(String), cids.map(String));
});

await check("pins below others", async () => {
  const child = CID.parse(await client.resolve(`/ipfs/${root}/a.txt`).then((p) => p.slice("/ipfs/".length)));
  assert.deepEqual((await all(client.pin.ls({ paths: `${root}/a.txt` }))).map((p) => p.type), [`indirect through ${root}`]);
  assert.ok((await all(client.pin.ls({ type: "indirect" }))).some((p) => p.cid.equals(child)));
});

if (newest) {
  await check("pins with names", async () => {
    const { cid } = await client.add("to be named", { pin: false });
    const { cid: next } = await client.add("to be named next", { pin: false });
    await client.pin.add(cid, { name: "my pin" });
    assert.deepEqual((await all(client.pin.ls({ name: "my p" }))).map((p) => [p.cid.toString(), p.name]), [[cid.toString(), "my pin"]]);
    assert.deepEqual((await all(client.pin.ls({ paths: cid, names: true }))).map((p) => p.name), ["my pin"]);
    assert.deepEqual((await client.pin.update(cid, next)).map(String), [cid.toString(), next.toString()]);
    assert.match((await failure(client.pin.rm(cid))).message, /not pinned/);
    await client.pin.rm(next);
  });
}

await check("refs", async () => {
  const refs = async (options) => (await all(client.refs(root, options))).map((r) => r.ref);
  assert.equal((await refs({})).length, 3);
  assert.equal((await refs({ recursive: true })).length, 4);
  assert.equal((await refs({ recursive: true, maxDepth: 1 })).length, 3);
  assert.deepEqual(await refs({ format: "<linkname>" }), ["a.txt", "empty", "sub"]);
  assert.ok((await refs({ edges: true }))[0].startsWith(`${root} -> `));
  assert.equal((await all(client.refs([hello, root]))).length, 3);
  assert.match((await failure(all(client.refs.local()))).message, /pin\/ls/);
});

await check("resolve", async () => {
  assert.match(await client.resolve(`/ipfs/${root}/sub/b.txt`), /^\/ipfs\/Qm/);
  assert.match(await client.resolve(`/ipfs/${root}/sub/b.txt`, { cidBase: "base32" }), /^\/ipfs\/bafy/);
  assert.match((await failure(client.resolve("/ipns/example.org"))).message, /use the CID/);
});

await check("the repository and the identity", async () => {
  assert.equal((await client.stats.repo()).numObjects, (await client.repo.stat()).numObjects);
  assert.equal(await client.repo.version(), "18");
  assert.match((await failure(all(client.repo.gc()))).message, /pin\/rm/);
  assert.equal(await client.isOnline(), false);
});

// What is not served: [its name, the call, the words of the error].
const toFolder = /wrap-with-directory/, toCID = /use the CID/, noKeys = /use CIDs/, removed = /removed, use 'ipfs dag'/, unknown = /404 page not found/;
const refusals = [
  ["files.write", () => client.files.write("/x", Buffer.from("x"), { create: true }), toFolder],
  ["files.read", () => collect(client.files.read("/x")), toFolder],
  ["files.ls", () => all(client.files.ls("/")), toFolder],
  ["files.stat", () => client.files.stat("/"), toFolder],
  ["files.cp", () => client.files.cp(`/ipfs/${root}`, "/x"), toFolder],
  ["files.mv", () => client.files.mv("/x", "/y"), toFolder],
  ["files.rm", () => client.files.rm("/x"), toFolder],
  ["files.flush", () => client.files.flush("/"), toFolder],
  ["name.resolve", () => all(client.name.resolve("example.org")), toCID],
  ["key.list", () => client.key.list(), noKeys],
  ["key.gen", () => client.key.gen("k", { type: "ed25519" }), noKeys],
  ["object.patch.addLink", () => client.object.patch.addLink(root, { Name: "x", Hash: root, Tsize: 1 }), /dag\/put/],
  ["swarm.peers", () => client.swarm.peers(), unknown],
  ["bitswap.stat", () => client.bitswap.stat(), unknown],
  ["pubsub.ls", () => client.pubsub.ls(), unknown],
  ["config.getAll", () => client.config.getAll(), unknown],
  ["bootstrap.list", () => client.bootstrap.list(), unknown],
];
if (!newest) {
  refusals.push(
    ["object.get", () => client.object.get(root), removed],
    ["object.stat", () => client.object.stat(root), removed],
    ["object.links", () => client.object.links(root), removed],
    ["object.data", () => client.object.data(root), removed],
    ["object.new", () => client.object.new(), removed],
  );
}
for (const [name, call, words] of refusals) {
  await check(`${name} says what to use`, async () => {
    assert.match((await failure(call())).message, words);
  });
}

await check("errors of arguments", async () => {
  assert.match((await failure(collect(client.cat("nonsense")))).message, /invalid path/);
  assert.match((await failure(client.add("x", { chunker: "nonsense" }))).message, /unrecognized chunker option: nonsense/);
  assert.match((await failure(client.add("x", { hashAlg: "nonsense" }))).message, /unrecognized hash function/);
  assert.match((await failure(collect(client.cat(`${root}/none`)))).message, /no link named "none"/);
});

await check("timeouts", async () => {
  const err = await failure(client.resolve(`/ipfs/${root}/sub/b.txt`, { timeout: "1ns" }));
  assert.equal(err.name, "TimeoutError");
  assert.match(err.message, /context deadline exceeded/);
  assert.equal(await text(client.cat(hello, { timeout: 10_000 })), "hello");
});

await check("aborted calls", async () => {
  const stop = new AbortController();
  async function* endless() {
    for (let i = 0; ; i++) {
      if (i === 20) stop.abort();
      yield bytes(1000, i);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
  assert.match(String(await failure(client.add(endless(), { signal: stop.signal }))), /abort/i);
  const { cid } = await client.add(bytes(8 << 20, input.seed + 9), { pin: false });
  const stopRead = new AbortController();
  const reading = (async () => {
    for await (const piece of client.cat(cid, { signal: stopRead.signal })) if (piece.length > 0) stopRead.abort();
  })();
  assert.match(String(await failure(reading)), /abort/i);
  assert.equal((await client.add("hello")).cid.toString(), hello);
});
