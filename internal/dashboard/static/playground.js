// The Playground works without this file; it saves clicks and keeps a history.
(function () {
  "use strict";
  var form = document.querySelector("[data-playground]");
  if (!form) return;

  function one(selector) { return document.querySelector(selector); }
  function say(text) { document.dispatchEvent(new CustomEvent("toast", {detail: text})); }

  // Another network or method loads its form. A method that is only being typed doesn't.
  var load = form.querySelector("button[name=load]");
  load.hidden = true;
  form.querySelectorAll("[data-load]").forEach(function (input) {
    var was = input.value;
    input.addEventListener("change", function () {
      if (input.value && input.value !== was) form.requestSubmit(load);
    });
  });

  // Ctrl+Enter sends from everywhere in the form.
  var keys = one("[data-keys]");
  if (keys) keys.hidden = false;
  form.addEventListener("keydown", function (event) {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    var button = one("[data-subscribe]") || form.querySelector("button.primary");
    if (button && !button.disabled) button.click();
  });

  // The JSON beside the form follows it. The server reads the form in the same way.
  function json(input) {
    var text = input.value.trim(), kind = input.dataset.kind;
    if (!text) return "";
    if (kind === "bare" || kind === "json") return text;
    if ("numbers" in input.dataset && /^-?\d+(\.\d+)?$/.test(text)) return text;
    if ("objects" in input.dataset && /^[{[]/.test(text)) return text;
    return JSON.stringify(text);
  }
  function params() {
    var list = [], filled = 0;
    form.querySelectorAll("[data-param]").forEach(function (part, i) {
      var inputs = Array.from(part.querySelectorAll("[data-kind]")), text;
      if (part.dataset.param) {
        text = inputs.filter(json).map(function (input) { return JSON.stringify(input.dataset.label) + ": " + json(input); }).join(", ");
        if (text || "required" in part.dataset) text = "{" + text + "}";
      } else {
        text = json(inputs[0]);
      }
      if (text) filled = i + 1;
      list.push(text || "null");
    });
    return "[" + list.slice(0, filled).join(", ") + "]";
  }
  var preview = one("#preview");
  form.addEventListener("input", function (event) {
    if (!event.target.closest("[data-param]")) return;
    preview.textContent = params();
    form.elements.params.value = preview.textContent;
  });

  // History and saved requests, in this browser and for this account only.
  var box = one("[data-history]"), name = "playground:" + box.dataset.history, most = 20;
  function read() {
    try { return JSON.parse(localStorage.getItem(name)) || []; } catch (e) { return []; }
  }
  function write(list) {
    var last = 0;
    list = list.filter(function (entry) { return entry.saved || ++last <= most; });
    try { localStorage.setItem(name, JSON.stringify(list)); } catch (e) { say("This browser keeps no history."); }
    show();
  }
  function remove(entry) {
    write(read().filter(function (other) { return other.at !== entry.at; }));
  }
  function row(entry) {
    var item = document.createElement("li"), link = document.createElement("a"), about = document.createElement("span"), drop = document.createElement("button");
    link.href = entry.link;
    link.textContent = entry.saved || entry.method;
    about.className = "muted";
    about.textContent = [entry.saved ? entry.method : "", entry.network, entry.saved ? "saved" : entry.ok ? "ok" : "failed", entry.took || "", new Date(entry.at).toLocaleTimeString()].filter(Boolean).join(" · ");
    drop.type = "button";
    drop.className = "quiet";
    drop.textContent = "Remove";
    drop.setAttribute("aria-label", "Remove " + link.textContent);
    drop.addEventListener("click", function () { remove(entry); });
    item.append(link, about, drop);
    return item;
  }
  function show() {
    var list = read(), saved = list.filter(function (e) { return e.saved; }), rest = list.filter(function (e) { return !e.saved; });
    box.hidden = list.length === 0;
    one("[data-history-list]").replaceChildren.apply(one("[data-history-list]"), saved.concat(rest).map(row));
  }
  one("[data-history-clear]").addEventListener("click", function () { write(read().filter(function (e) { return e.saved; })); });

  var answer = one("[data-entry]"), share = one("[data-share]");
  if (answer) {
    var entry = JSON.parse(answer.dataset.entry);
    entry.at = Date.now();
    if (!entry.batch && entry.link.length < 4000) write([entry].concat(read()));
    if (window.matchMedia("(max-width: 1160px)").matches) answer.scrollIntoView();
  }
  show();

  var save = one("[data-save]");
  save.hidden = false;
  save.addEventListener("click", function () {
    var title = window.prompt("Name of the request", form.elements.method.value);
    if (!title) return;
    write([{saved: title, link: link(), method: form.elements.method.value, network: form.elements.network.value, at: Date.now()}].concat(read()));
    say("Request saved in this browser.");
  });

  // The link has what is in the form now, and never the key.
  function link() {
    var query = new URLSearchParams({network: form.elements.network.value, method: form.elements.method.value, params: form.elements.params.value});
    return "/try?" + query;
  }
  if (navigator.clipboard) {
    share.textContent = "Copy link";
    share.addEventListener("click", function (event) {
      event.preventDefault();
      navigator.clipboard.writeText(location.origin + link()).then(function () { say("Link copied. It doesn't contain your key."); });
    });
  }

  // Subscriptions, live.
  var socket, at = one("[data-socket]"), events = one("[data-events]");
  if (!at || !events) return;
  var start = one("[data-subscribe]"), stop = one("[data-unsubscribe]"), status = one("[data-socket-status]"), count = 0;
  at.hidden = false;
  one("[data-no-script]").hidden = true;
  function add(text) {
    var item = document.createElement("li"), time = document.createElement("span"), pre = document.createElement("pre");
    time.className = "muted small";
    time.textContent = new Date().toLocaleTimeString();
    try { text = JSON.stringify(JSON.parse(text), null, 2); } catch (e) { /* shown as it is */ }
    pre.textContent = text;
    pre.tabIndex = 0;
    item.append(time, pre);
    events.prepend(item);
    while (events.children.length > 50) events.lastChild.remove();
  }
  function ended(text) {
    start.hidden = false;
    stop.hidden = true;
    status.textContent = text;
  }
  start.addEventListener("click", function () {
    count = 0;
    events.replaceChildren();
    events.hidden = false;
    one("#answer-empty .empty").hidden = true;
    start.hidden = true;
    stop.hidden = false;
    status.textContent = "Connecting";
    fetch(at.dataset.socket, {method: "POST", headers: {Accept: "application/json"}, body: new URLSearchParams({network: form.elements.network.value, key: form.elements.key.value})}).then(function (answer) {
      return answer.json();
    }).then(function (answer) {
      if (answer.error) throw new Error(answer.error);
      connect(answer.url);
    }).catch(function (error) { ended(error.message); });
  });
  function connect(url) {
    socket = new WebSocket(url);
    socket.onopen = function () {
      status.textContent = "Waiting for events";
      socket.send('{"jsonrpc":"2.0","id":1,"method":' + JSON.stringify(form.elements.method.value) + ',"params":' + form.elements.params.value + "}");
    };
    socket.onmessage = function (message) {
      add(message.data);
      if (message.data.includes('"subscription"')) status.textContent = ++count + (count === 1 ? " event" : " events");
    };
    socket.onclose = function (event) { ended(event.wasClean || count ? "Ended after " + count + " events." : "The connection was refused. Check the key's allowed origins."); };
  }
  stop.addEventListener("click", function () { if (socket) socket.close(); });
})();
