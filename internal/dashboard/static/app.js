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

  // Forms that act as soon as something is chosen.
  all("form[data-auto] select", function (select) {
    select.addEventListener("change", function () { select.form.submit(); });
  });
})();
