// The command palette: Ctrl+K goes anywhere. The menu has the same pages without it.
(function () {
  "use strict";
  var button = document.querySelector("[data-palette]"), dialog, input, list, places, chosen = 0, most = 12;
  if (!button || !window.HTMLDialogElement) return;
  button.hidden = false;

  function element(name, attributes, parent) {
    var e = document.createElement(name);
    Object.keys(attributes).forEach(function (key) { e.setAttribute(key, attributes[key]); });
    parent.append(e);
    return e;
  }

  function build() {
    dialog = element("dialog", {"class": "palette", "aria-label": "Search"}, document.body);
    input = element("input", {type: "search", role: "combobox", placeholder: "Search or jump to…", "aria-label": "Search or jump to", "aria-expanded": "true", "aria-controls": "places", "aria-autocomplete": "list", autocomplete: "off", spellcheck: "false"}, dialog);
    list = element("ul", {id: "places", role: "listbox", "aria-label": "Places"}, dialog);
    input.addEventListener("input", function () { chosen = 0; show(); });
    input.addEventListener("keydown", keys);
    list.addEventListener("click", function (event) { go(event.target.closest("[data-path]")); });
    dialog.addEventListener("click", function (event) { if (event.target === dialog) dialog.close(); });
  }

  // Places whose name or kind has every word, those that begin with the first word before others.
  function found() {
    var words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    var fit = (places || []).filter(function (p) {
      var text = (p.name + " " + p.kind).toLowerCase();
      return words.every(function (w) { return text.includes(w); });
    });
    if (words.length) fit.sort(function (a, b) { return b.name.toLowerCase().startsWith(words[0]) - a.name.toLowerCase().startsWith(words[0]); });
    return fit.slice(0, most);
  }

  function show() {
    var fit = found();
    list.replaceChildren();
    fit.forEach(function (p, i) {
      var item = element("li", {role: "option", id: "place-" + i, "aria-selected": String(i === chosen), "data-path": p.path}, list);
      item.textContent = p.name;
      element("span", {"class": "muted small"}, item).textContent = p.kind;
    });
    if (fit.length) input.setAttribute("aria-activedescendant", "place-" + chosen);
    else {
      input.removeAttribute("aria-activedescendant");
      element("li", {role: "option", "aria-disabled": "true", "aria-selected": "false", "class": "muted"}, list).textContent = places ? "Nothing found" : "Loading";
    }
  }

  function go(item) {
    if (!item) return;
    dialog.close();
    location.assign(item.dataset.path);
  }

  function keys(event) {
    var links = list.querySelectorAll("[data-path]");
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      chosen = links.length ? (chosen + (event.key === "ArrowDown" ? 1 : links.length - 1)) % links.length : 0;
      show();
    } else if (event.key === "Enter" && links[chosen]) {
      event.preventDefault();
      go(links[chosen]);
    }
  }

  function open() {
    if (!dialog) build();
    if (dialog.open) return dialog.close();
    input.value = "";
    chosen = 0;
    show();
    dialog.showModal();
    if (!places) fetch("/palette.json", {headers: {Accept: "application/json"}}).then(function (answer) { return answer.ok ? answer.json() : []; }).then(function (all) { places = all; show(); }).catch(function () { places = []; show(); });
  }

  button.addEventListener("click", open);
  document.addEventListener("keydown", function (event) {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      open();
    }
  });
})();
