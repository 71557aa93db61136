// Everything works without this file; it saves clicks.
(function () {
  "use strict";

  function all(selector, run) { document.querySelectorAll(selector).forEach(run); }

  // Copy buttons, also those of parts that are loaded later.
  function showCopy() {
    if (navigator.clipboard) all("[data-copy]", function (button) { button.hidden = false; });
  }
  showCopy();
  document.addEventListener("click", function (event) {
    var button = event.target.closest("[data-copy]");
    if (!button) return;
    navigator.clipboard.writeText(button.dataset.copy).then(function () {
      var was = button.textContent;
      button.textContent = "Copied";
      setTimeout(function () { button.textContent = was; }, 1500);
    });
  });

  // The theme: the system's, light or dark.
  all("[data-theme-menu]", function (menu) {
    var root = document.documentElement;
    function mark() {
      all("[data-theme-choice]", function (button) {
        button.setAttribute("aria-pressed", String(button.dataset.themeChoice === (root.dataset.theme || "system")));
      });
    }
    menu.hidden = false;
    mark();
    menu.addEventListener("click", function (event) {
      var button = event.target.closest("[data-theme-choice]");
      if (!button) return;
      var theme = button.dataset.themeChoice;
      if (theme === "system") delete root.dataset.theme; else root.dataset.theme = theme;
      try {
        if (theme === "system") localStorage.removeItem("theme"); else localStorage.setItem("theme", theme);
      } catch (e) { /* for this page only */ }
      mark();
    });
  });

  // Menus close when somebody clicks elsewhere or presses Escape.
  function closeMenus(except) {
    all("details.pop[open], .tabbar details[open]", function (menu) {
      if (!except || !menu.contains(except)) menu.open = false;
    });
  }
  document.addEventListener("click", function (event) { closeMenus(event.target); });
  document.addEventListener("keydown", function (event) {
    if (event.key !== "Escape") return;
    var open = document.querySelector("details.pop[open], .tabbar details[open]");
    closeMenus();
    if (open) open.querySelector("summary").focus();
  });

  // Questions before what can't be taken back.
  all("form[data-confirm]", function (form) {
    form.addEventListener("submit", function (event) {
      if (!window.confirm(form.dataset.confirm)) event.preventDefault();
    });
  });

  // Uploads with a bar, and files that are dropped.
  all("form[data-upload]", function (form) {
    var input = form.querySelector("input[type=file]");
    var bar = form.querySelector("progress");
    var result = form.querySelector("[data-upload-result]");
    var drop = form.querySelector(".drop");

    function say(text, kind) {
      result.hidden = false;
      result.className = "notice " + kind;
      result.textContent = text;
    }

    function send(files) {
      var data = new FormData();
      for (var i = 0; i < files.length; i++) data.append("file", files[i]);
      var request = new XMLHttpRequest();
      request.open("POST", form.action);
      request.setRequestHeader("Accept", "application/json");
      request.upload.onprogress = function (event) {
        if (event.lengthComputable) bar.value = 100 * event.loaded / event.total;
      };
      request.onload = function () {
        bar.hidden = true;
        var answer;
        try { answer = JSON.parse(request.responseText); } catch (e) { answer = {error: "The answer can't be read."}; }
        if (request.status !== 200) return say(answer.error || "Something went wrong.", "bad");
        say("Stored: " + answer.map(function (f) { return (f.Name && f.Name !== f.Hash ? f.Name + " " : "") + f.Hash; }).join(", "), "good");
        form.reset();
        fetch(location.href).then(function (page) { return page.text(); }).then(refresh);
      };
      request.onerror = function () {
        bar.hidden = true;
        say("The connection broke. Nothing was stored; try again.", "bad");
      };
      bar.value = 0;
      bar.hidden = false;
      request.send(data);
    }

    // Takes the list of pins from a fresh copy of this page.
    function refresh(text) {
      var fresh = new DOMParser().parseFromString(text, "text/html").querySelector("[data-pins]");
      var here = document.querySelector("[data-pins]");
      if (fresh && here) here.replaceWith(fresh);
      showCopy();
    }

    form.addEventListener("submit", function (event) {
      event.preventDefault();
      send(input.files);
    });
    ["dragover", "dragleave", "drop"].forEach(function (name) {
      drop.addEventListener(name, function (event) {
        event.preventDefault();
        drop.classList.toggle("over", name === "dragover");
        if (name === "drop" && event.dataTransfer.files.length) send(event.dataTransfer.files);
      });
    });
  });

  // The first request of an account: asks every second until it has arrived.
  all("[data-wait]", function (box) {
    var left = 1800;
    box.querySelector("[data-wait-hint]").textContent = "This page updates by itself.";

    function arrived() {
      box.classList.add("done");
      box.querySelector("[data-wait-text]").textContent = "Your first request has arrived.";
      box.querySelector("[data-wait-hint]").textContent = "Everything works. Connect your app next.";
      all("[data-wait-step]", function (step) { step.className = "done"; step.querySelector(".mark").textContent = "✓"; });
      all("[data-wait-count]", function (count) { count.textContent = "2 of 3"; });
    }

    function ask() {
      if (document.hidden) return setTimeout(ask, 1000);
      fetch(box.dataset.wait, {headers: {Accept: "application/json"}}).then(function (answer) {
        return answer.ok ? answer.json() : {};
      }).catch(function () { return {}; }).then(function (answer) {
        if (answer.arrived) arrived();
        else if (--left > 0) setTimeout(ask, 1000);
      });
    }
    ask();
  });

  // Forms that act as soon as something is chosen.
  all("form[data-auto] select", function (select) {
    select.addEventListener("change", function () { select.form.submit(); });
  });
})();
