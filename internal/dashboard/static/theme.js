// Puts the chosen theme on before anything is painted. Without a choice the system decides.
(function () {
  try {
    var theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch (e) { /* without storage the system's theme stays */ }
})();
