import { onchainTable } from "ponder";

export const change = onchainTable("change", (t) => ({ id: t.text().primaryKey(), hash: t.hex().notNull(), value: t.bigint().notNull(), read: t.bigint().notNull() }));
