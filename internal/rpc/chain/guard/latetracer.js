(function (source) {
  var config, own

  function tracer() {
    if (own) return own
    var made = (0, eval)("(" + source + ")")
    if (typeof made.result !== "function") throw new Error("trace object must expose a function result()")
    if (typeof made.fault !== "function") throw new Error("trace object must expose a function fault()")
    if ((typeof made.enter === "function") !== (typeof made.exit === "function")) {
      throw new Error("trace object must expose either both or none of enter() and exit()")
    }
    if (typeof made.setup === "function") made.setup(config)
    return (own = made)
  }

  return {
    setup: function (given) { config = given },
    step: function (log, db) { var t = tracer(); if (t.step) t.step(log, db) },
    enter: function (frame) { var t = tracer(); if (t.enter) t.enter(frame) },
    exit: function (frame) { var t = tracer(); if (t.exit) t.exit(frame) },
    fault: function (log, db) { tracer().fault(log, db) },
    result: function (ctx, db) { return tracer().result(ctx, db) },
  }
})
