// Everything works without this file; it saves clicks.
(function () {
  "use strict";

  function all(selector, run) { document.querySelectorAll(selector).forEach(run); }

  // Copy buttons, also those of parts that are loaded later.
  function showCopy() {
    if (navigator.clipboard) all("[data-copy], [data-copy-from]", function (button) { button.hidden = false; });
  }
  showCopy();
  document.addEventListener("click", function (event) {
    var button = event.target.closest("[data-copy], [data-copy-from]");
    if (!button) return;
    var from = button.dataset.copyFrom;
    navigator.clipboard.writeText(from ? document.querySelector(from).textContent : button.dataset.copy).then(function () {
      toast(button.getAttribute("aria-label") ? button.getAttribute("aria-label").replace("Copy", "Copied") : "Copied");
    });
  });

  // Toasts: short messages that go by themselves. Other scripts send them as events.
  var toasts;
  function toast(text) {
    if (!toasts) {
      toasts = document.createElement("div");
      toasts.className = "toasts";
      toasts.setAttribute("role", "status");
      document.body.append(toasts);
    }
    var one = document.createElement("p");
    one.textContent = text;
    toasts.append(one);
    setTimeout(function () { one.remove(); }, 4000);
  }
  document.addEventListener("toast", function (event) { toast(event.detail); });
  document.addEventListener("copyable", showCopy);

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

  // Times in the reader's zone; UTC is a hover away. Without this they are UTC.
  function localTimes(root) {
    root.querySelectorAll("time[data-local]").forEach(function (time) {
      var at = new Date(time.dateTime);
      if (isNaN(at)) return;
      time.title = time.dateTime.replace("T", " ").replace("Z", " UTC");
      time.textContent = time.dataset.local === "time" ? at.toLocaleTimeString() : at.toLocaleString();
    });
    root.querySelectorAll("[data-at]").forEach(function (mark) {
      var at = new Date(mark.dataset.at), utc = mark.dataset.at.replace("T", " ").replace(/:00Z$/, " UTC"), tick = mark.localName === "text";
      mark.textContent = tick ? at.toLocaleTimeString([], {hour: "2-digit", minute: "2-digit", hourCycle: "h23"}) : at.toLocaleString([], {dateStyle: "short", timeStyle: "short"});
      if (!tick) return mark.setAttribute("title", utc);
      mark.append(document.createElementNS(mark.namespaceURI, "title"));
      mark.lastChild.textContent = utc;
    });
    root.querySelectorAll(".chart-data tr:has([data-at])").forEach(function (row) { row.closest("table").querySelector("th").textContent = "Time"; });
  }

  // What a plot shows at one time, by the pointer or the arrow keys: its table has the values.
  function readable(root) {
    root.querySelectorAll("figure.chart").forEach(function (figure) {
      var svg = figure.querySelector("svg[data-slot]"), rows = figure.querySelectorAll("tbody tr"), heads = figure.querySelectorAll("thead th"), parts = figure.querySelectorAll("svg > g");
      if (!svg || !rows.length) return;
      var left = +svg.dataset.left, slot = +svg.dataset.slot, now = -1;
      var shown = document.createElement("div"), line = document.createElementNS(svg.namespaceURI, "line");
      shown.className = "chart-shown legend";
      shown.setAttribute("role", "status");
      svg.after(shown);
      svg.tabIndex = 0;
      line.setAttribute("class", "chart-cursor");
      line.setAttribute("y1", 12);
      line.setAttribute("y2", 214);
      function show(i) {
        now = Math.max(0, Math.min(rows.length - 1, i));
        line.setAttribute("x1", left + slot * (now + 0.5));
        line.setAttribute("x2", left + slot * (now + 0.5));
        svg.append(line);
        shown.replaceChildren.apply(shown, Array.from(rows[now].children).map(tip));
        // The box stands beside the step, on the side that has room for it.
        var x = (left + slot * (now + 0.5)) / svg.viewBox.baseVal.width, room = x > 0.5;
        shown.style.left = room ? "auto" : 100 * x + "%";
        shown.style.right = room ? 100 - 100 * x + "%" : "auto";
      }
      function tip(cell, at) {
        var part = document.createElement(at ? "span" : "b");
        if (at) part.className = parts[at - 1].getAttribute("class").replace("chart-", "key-");
        part.textContent = at ? heads[at].textContent + " " + (cell.textContent || "none") : cell.textContent;
        return part;
      }
      function hide() { line.remove(); shown.replaceChildren(); now = -1; }
      svg.addEventListener("pointermove", function (event) {
        var box = svg.getBoundingClientRect();
        show(Math.floor(((event.clientX - box.left) / box.width * svg.viewBox.baseVal.width - left) / slot));
      });
      svg.addEventListener("pointerleave", hide);
      svg.addEventListener("blur", hide);
      svg.addEventListener("focus", function () { if (svg.matches(":focus-visible")) show(rows.length - 1); });
      svg.addEventListener("keydown", function (event) {
        var to = {ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: rows.length - 1}[event.key];
        if (to === undefined) return;
        event.preventDefault();
        show(to);
      });
    });
  }
  function enliven(root) { localTimes(root); readable(root); }
  enliven(document);

  // Parts of a page that are taken from a fresh copy of it every few seconds, unless
  // somebody is in the middle of them.
  all("[data-refresh]", function (part) {
    var id = part.id, pause = 1000 * part.dataset.refresh;
    function busy() {
      var here = document.getElementById(id), chosen = window.getSelection();
      return document.hidden || here.contains(document.activeElement) || !chosen.isCollapsed && here.contains(chosen.anchorNode);
    }
    function again() { setTimeout(refresh, pause); }
    function refresh() {
      if (busy()) return again();
      fetch(location.href).then(function (page) {
        if (!page.ok || page.redirected) throw new Error(page.status);
        return page.text();
      }).then(function (text) {
        var fresh = new DOMParser().parseFromString(text, "text/html").getElementById(id);
        if (!fresh || busy()) return;
        enliven(fresh);
        document.getElementById(id).replaceWith(fresh);
        showCopy();
      }).catch(function () { /* the next one may succeed */ }).then(again);
    }
    again();
  });

  // Forms that act as soon as something is chosen.
  all("form[data-auto] select", function (select) {
    select.addEventListener("change", function () { select.form.submit(); });
  });
})();
