// Uploads with a bar, files and folders that are dropped, and large files in parts that go
// on where a connection broke. Without this file the form sends everything at once.
(function () {
  "use strict";

  var whole = 16 << 20; // a larger file is sent in parts
  var pauses = [1, 2, 4, 8, 15, 30, 30, 30]; // seconds before a part is sent again

  document.querySelectorAll("form[data-upload]").forEach(function (form) {
    var input = form.querySelector("input[type=file]");
    var button = form.querySelector("button");
    var bar = form.querySelector("progress");
    var result = form.querySelector("[data-upload-result]");
    var drop = form.querySelector(".drop");
    var key = new URL(form.action).searchParams.get("key");
    var total = 0, sent = 0;

    function say(text, kind) {
      result.hidden = false;
      result.className = "notice " + kind;
      result.textContent = text;
    }

    // Sends a request; what it resolves to is the answer as data.
    function post(address, body) {
      return new Promise(function (done, fail) {
        var request = new XMLHttpRequest();
        request.open("POST", address);
        request.setRequestHeader("Accept", "application/json");
        if (body instanceof URLSearchParams) request.setRequestHeader("Content-Type", "application/x-www-form-urlencoded");
        request.upload.onprogress = function (event) {
          if (total) bar.value = Math.min(100, 100 * (sent + event.loaded) / total);
        };
        request.onload = function () {
          var answer;
          try { answer = JSON.parse(request.responseText); } catch (e) { answer = {}; }
          if (request.status === 200 || request.status === 409 && answer.id) return done(answer);
          fail({text: answer.error || "Something went wrong.", again: request.status === 429 || request.status >= 502});
        };
        request.onerror = function () { fail({text: "The connection broke.", again: true}); };
        request.send(body);
      });
    }

    function wait(seconds) { return new Promise(function (done) { setTimeout(done, 1000 * seconds); }); }

    // One part after the other. Where one fails, the server says how far it got.
    async function inParts(file) {
      var about = new URLSearchParams({name: file.name, size: file.size, modified: file.lastModified, key: key});
      var before = sent, tries = 0;
      var state = await post("/files/uploads", about);
      while (state.received < file.size) {
        sent = before + state.received;
        try {
          state = await post("/files/uploads/" + state.id + "?offset=" + state.received, file.slice(state.received, state.received + state.part));
          if (tries) result.hidden = true;
          tries = 0;
        } catch (problem) {
          if (!problem.again || tries === pauses.length) {
            problem.text += " Choose the same file within an hour to continue.";
            throw problem;
          }
          say("The connection broke. Trying again in " + pauses[tries] + " s.", "warn");
          await wait(pauses[tries++]);
          try { state = await post("/files/uploads", about); } catch (e) { /* the part tells */ }
        }
      }
      sent = before + file.size;
      say("Storing " + file.name + " …", "");
      return post("/files/uploads/" + state.id + "/finish", new URLSearchParams({key: key}));
    }

    async function atOnce(list) {
      var data = new FormData();
      list.forEach(function (f) { data.append("file", f.file, f.path); });
      return post(form.action, data);
    }

    async function send(list) {
      if (!list.length || button.disabled) return;
      var large = list.filter(function (f) { return f.file.size > whole && f.path.indexOf("/") < 0; });
      var rest = list.filter(function (f) { return large.indexOf(f) < 0; });
      total = list.reduce(function (n, f) { return n + f.file.size; }, 0);
      sent = 0;
      button.disabled = true;
      bar.value = 0;
      bar.hidden = false;
      try {
        var stored = [];
        if (rest.length) stored = stored.concat(await atOnce(rest));
        sent = rest.reduce(function (n, f) { return n + f.file.size; }, 0);
        for (var i = 0; i < large.length; i++) stored = stored.concat(await inParts(large[i].file));
        say("Stored: " + stored.map(function (f) { return (f.Name && f.Name !== f.Hash ? f.Name + " " : "") + f.Hash.slice(0, 10) + "…" + f.Hash.slice(-6); }).join(", "), "good");
        form.reset();
      } catch (problem) {
        say(problem.text || String(problem), "bad");
      }
      bar.hidden = true;
      button.disabled = false;
      refresh(await (await fetch(location.href)).text());
    }

    // Takes what changed from a fresh copy of this page.
    function refresh(text) {
      var fresh = new DOMParser().parseFromString(text, "text/html");
      ["[data-pins]", "#space", "#by-day"].forEach(function (part) {
        var now = fresh.querySelector(part), here = document.querySelector(part);
        if (now && here) here.replaceWith(now);
      });
      document.dispatchEvent(new Event("copyable"));
    }

    // The files below what was dropped, with their paths.
    async function below(entry, path) {
      if (entry.isFile) return [{file: await new Promise(function (done, fail) { entry.file(done, fail); }), path: path + entry.name}];
      var reader = entry.createReader(), list = [], some;
      do {
        some = await new Promise(function (done, fail) { reader.readEntries(done, fail); });
        for (var i = 0; i < some.length; i++) list = list.concat(await below(some[i], path + entry.name + "/"));
      } while (some.length);
      return list;
    }

    async function dropped(transfer) {
      var entries = Array.from(transfer.items).map(function (item) { return item.webkitGetAsEntry && item.webkitGetAsEntry(); }).filter(Boolean);
      if (!entries.length) return chosen(transfer.files);
      return (await Promise.all(entries.map(function (entry) { return below(entry, ""); }))).flat();
    }

    function chosen(files) {
      return Array.from(files).map(function (file) { return {file: file, path: file.webkitRelativePath || file.name}; });
    }

    form.addEventListener("submit", function (event) {
      event.preventDefault();
      send(chosen(input.files));
    });
    if (drop) ["dragover", "dragleave", "drop"].forEach(function (name) {
      drop.addEventListener(name, function (event) {
        event.preventDefault();
        drop.classList.toggle("over", name === "dragover");
        if (name === "drop") dropped(event.dataTransfer).then(send);
      });
    });
  });
})();
