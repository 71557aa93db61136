// Stripe's own form: the card's number stays in its frame. We get the set-up's name only.
(function () {
  "use strict";

  var form = document.getElementById("stripe-form");
  var problem = document.getElementById("stripe-problem");
  if (!form) return;
  var button = form.querySelector("button");

  function tell(text) {
    problem.textContent = text;
    problem.hidden = !text;
  }

  if (typeof Stripe !== "function") {
    tell("Stripe's form can't be loaded: check that js.stripe.com is not blocked, and reload the page.");
    return;
  }
  var stripe = Stripe(form.dataset.key);
  var color = getComputedStyle(document.documentElement).getPropertyValue("--text").trim();
  var card = stripe.elements().create("card", { style: { base: { color: color, fontSize: "16px" } } });
  card.mount("#stripe-card");
  card.on("change", function (event) { tell(event.error ? event.error.message : ""); });
  button.disabled = false;

  form.addEventListener("submit", function (event) {
    event.preventDefault();
    button.disabled = true;
    stripe.confirmCardSetup(form.dataset.secret, { payment_method: { card: card } }).then(function (result) {
      if (!result.error) {
        form.submit();
        return;
      }
      tell(result.error.message);
      button.disabled = false;
    });
  });
})();
