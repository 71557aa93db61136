// Package clients tests the running service with the libraries that people use:
// ethers, viem and web3.js from npm, and go-ethereum's own client.
//
// The JavaScript libraries are installed once, into the user's cache folder, at the
// versions of package-lock.json. Each has one script here, NAME.mjs, that the tests run
// against a server of their own; it prints "ok N checks" or what went wrong. Without
// Node, or without the packages and a registry to get them from, the scripts are skipped.
//
// The Go clients of Kubo's API are in modules of their own, goipfsapi and kuborpc, so that
// what they require doesn't become ours. The tests here build their tests and run them on
// a server. Compiling Kubo's client takes 110 seconds of CPU time with an empty cache, and
// 50 where the standard library is compiled already, so it is part of make test.
//
// Two programs take too long for make test and run only in make full: Hardhat, with the
// project in the folder hardhat, and Kubo's command line, which tools/kubo pins.
//
// The snippets that the dashboard shows are run here too, each as it stands.
package clients
