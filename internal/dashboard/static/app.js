// Everything works without this file; it saves clicks.
(function () {
  "use strict";

  function all(selector, run) { document.querySelectorAll(selector).forEach(run); }

  // Copy buttons.
  all("[data-copy]", function (button) {
    if (!navigator.clipboard) return;
    button.hidden = false;
    button.addEventListener("click", function () {
      navigator.clipboard.writeText(button.dataset.copy).then(function () {
        var was = button.textContent;
        button.textContent = "Copied";
        setTimeout(function () { button.textContent = was; }, 1500);
      });
    });
  });

  // Light and dark by hand.
  all("[data-theme-switch]", function (button) {
    button.hidden = false;
    button.addEventListener("click", function () {
      var root = document.documentElement;
      var dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      try { localStorage.setItem("theme", root.dataset.theme); } catch (e) { /* for this page only */ }
    });
  });

  // Questions before what can't be taken back.
  all("form[data-confirm]", function (form) {
    form.addEventListener("submit", function (event) {
      if (!window.confirm(form.dataset.confirm)) event.preventDefault();
    });
  });

  // Forms that act as soon as something is chosen.
  all("form[data-auto] select", function (select) {
    select.addEventListener("change", function () { select.form.submit(); });
  });
})();
