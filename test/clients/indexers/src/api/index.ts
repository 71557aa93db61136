import { Hono } from "hono";
import { db } from "ponder:api";
import schema from "ponder:schema";

const app = new Hono();

app.get("/changes", async (c) => {
  const rows = await db.select().from(schema.change);
  return c.json(rows.map((row) => ({ hash: row.hash, value: Number(row.value), read: Number(row.read) })));
});

export default app;
