// Package usage counts what accounts use and writes it to the store.
//
// Record adds an event to a cell in memory: one for each account, key, network,
// method and outcome. Every few seconds the cells are emptied into rows by the
// minute, and the rows go to the store in numbered batches. A batch whose fate is
// unknown is sent again unchanged, and the store accepts each number once: nothing
// is lost or counted twice while the process lives. A process that is killed loses
// what it recorded since the last flush.
//
// Each account has a budget of distinct cells by the minute, the hour and the day. Beyond it
// the method of an event is "other", and beyond a second budget its key is "": the totals
// stay exact, and the rows are bounded.
//
// While the store is unavailable, rows wait in memory. When there are too many, the oldest
// minutes become one at the start of their hour, and the oldest hours one at the
// start of their day: the totals stay, the detail is lost.
package usage
