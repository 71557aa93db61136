import { ponder } from "ponder:registry";
import { change } from "ponder:schema";

ponder.on("Demo:ValueChanged", async ({ event, context }) => {
  const { abi, address } = context.contracts.Demo;
  const read = (await context.client.readContract({ abi, address, functionName: "value" })) as bigint;
  await context.db.insert(change).values({ id: event.id, hash: event.transaction.hash, value: event.args.value, read });
});
