// Package nodegate is the domain of a node access service: networks and the
// nodes behind them, the keys that open them, and the one error type that every
// layer speaks.
//
// It imports only the standard library and holds no wire, SQL or go-ethereum
// types. Everything else in this repository depends on it; it depends on nothing.
package nodegate
