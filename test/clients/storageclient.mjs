// What the scripts for Kubo's JavaScript clients share. Both libraries have the same calls.

import { Buffer } from "node:buffer";
import { input } from "./harness.mjs";

export const library = await import(input.library);
const authorization = (key, secret) => ({ authorization: "Basic " + Buffer.from(`${key}:${secret}`).toString("base64") });

/** connect makes a client for a key. */
export const connect = (key, secret) => library.create({ url: input.url, headers: authorization(key, secret) });
export const client = connect(input.key, input.secret);

/** collect joins the pieces of an answer. */
export async function collect(source) {
  const pieces = [];
  for await (const piece of source) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** all makes a list of what comes. */
export async function all(source) {
  const list = [];
  for await (const item of source) list.push(item);
  return list;
}

/** bytes differ everywhere and are the same on every run. */
export function bytes(size, seed) {
  const data = Buffer.alloc(size);
  let x = seed >>> 0 || 1;
  for (let i = 0; i < size; i++) {
    x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
    data[i] = x >>> 24;
  }
  return data;
}

export const hello = "QmWfVY9y3xjsixTgbd9AorQxH7VtMpzfx2HaWtsoUYecaX"; // of "hello"
export const helloV1 = "bafkreibm6jg3ux5qumhcn2b3flc3tyu6dmlb4xa7u5bf44yegnrjhc4yeq";
export const missing = "QmPBRcT6Qs9vLAyoMR5TQrpTrCyLzmkdUUumFzsrMULUGJ";
