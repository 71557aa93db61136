// Adds a network to a wallet of this browser (EIP-3085). Without this file the page tells
// what to enter by hand.
(function () {
  "use strict";

  var buttons = document.querySelectorAll("[data-add-network]");
  var select = document.querySelector("[data-wallet]");
  var result = document.querySelector("[data-wallet-result]");
  if (!select || !result) return;
  var wallets = [];

  function say(text, kind) {
    result.hidden = false;
    result.className = "notice " + kind;
    result.textContent = text;
  }

  // Wallets announce themselves (EIP-6963), perhaps later than this page is shown.
  function found(name, provider) {
    if (!provider || wallets.some(function (known) { return known.provider === provider; })) return;
    wallets.push({name: name, provider: provider});
    select.add(new Option(name, String(wallets.length - 1)));
    document.querySelector("[data-wallet-choice]").hidden = wallets.length < 2;
    document.querySelector("[data-wallet-none]").hidden = true;
    buttons.forEach(function (button) { button.hidden = false; });
  }
  window.addEventListener("eip6963:announceProvider", function (event) {
    if (event.detail && event.detail.info) found(String(event.detail.info.name), event.detail.provider);
  });
  window.dispatchEvent(new Event("eip6963:requestProvider"));

  // Wallets that don't announce themselves put an object into the page, perhaps later too.
  function injected() {
    if (!wallets.length) found("your wallet", window.ethereum);
  }
  injected();
  window.addEventListener("ethereum#initialized", injected, {once: true});

  function refusal(error, name) {
    if (error && error.code === 4001) return "You rejected the request in " + name + ". Nothing was changed.";
    if (error && error.code === -32002) return "A request is already waiting in " + name + ". Open it and answer.";
    return "The request failed in " + name + ": " + (error && error.message || "no reason was given");
  }

  function add(button, network, wallet) {
    button.disabled = true;
    say("Confirm the request in " + wallet.name + ".", "");
    Promise.resolve().then(function () {
      return wallet.provider.request({method: "wallet_addEthereumChain", params: [network]});
    }).then(function () {
      say(network.chainName + " was added to " + wallet.name + ".", "good");
    }, function (error) {
      say(refusal(error, wallet.name), error && error.code === 4001 ? "warn" : "bad");
    }).then(function () { button.disabled = false; });
  }

  buttons.forEach(function (button) {
    button.addEventListener("click", function () {
      add(button, JSON.parse(button.dataset.addNetwork), wallets[select.value]);
    });
  });
})();
