package main

import (
	"errors"

	"github.com/nodegate/nodegate"
)

// Exit codes. A service manager may restart after a failure; after a mistake in
// the command line, the configuration or the data folder that is no use.
const (
	exitFailure = 1
	exitMistake = 2
)

// exitCodes maps every code of the domain. Most of them answer requests and
// never end the process; they are failures if they do.
var exitCodes = map[nodegate.Code]int{
	nodegate.Internal:            exitFailure,
	nodegate.ParseError:          exitFailure,
	nodegate.InvalidRequest:      exitFailure,
	nodegate.MethodNotFound:      exitFailure,
	nodegate.InvalidParams:       exitFailure,
	nodegate.Reverted:            exitFailure,
	nodegate.ExecutionFailed:     exitFailure,
	nodegate.NodeFault:           exitFailure,
	nodegate.OutsideHistory:      exitFailure,
	nodegate.Unverified:          exitFailure,
	nodegate.Timeout:             exitFailure,
	nodegate.ResponseTooLarge:    exitFailure,
	nodegate.NoNode:              exitFailure,
	nodegate.Busy:                exitFailure,
	nodegate.KeyRequired:         exitFailure,
	nodegate.KeyInvalid:          exitFailure,
	nodegate.SecretInvalid:       exitFailure,
	nodegate.Forbidden:           exitFailure,
	nodegate.UnknownNetwork:      exitFailure,
	nodegate.RateLimited:         exitFailure,
	nodegate.CreditsSpent:        exitFailure,
	nodegate.AccountBusy:         exitFailure,
	nodegate.HTTPMethod:          exitFailure,
	nodegate.TooLarge:            exitFailure,
	nodegate.MediaType:           exitFailure,
	nodegate.UpgradeRequired:     exitFailure,
	nodegate.InvalidInput:        exitMistake,
	nodegate.NotFound:            exitFailure,
	nodegate.Conflict:            exitFailure,
	nodegate.SignInFailed:        exitFailure,
	nodegate.CardDeclined:        exitFailure,
	nodegate.CardRequired:        exitFailure,
	nodegate.QuotaReached:        exitFailure,
	nodegate.InsufficientStorage: exitFailure,
	nodegate.Damaged:             exitFailure,
	nodegate.Mismatch:            exitFailure,
	nodegate.BadConfig:           exitMistake,
}

// exitCode is the status of a command that failed with err.
func exitCode(err error) int {
	var usage *usageError
	if errors.As(err, &usage) {
		return exitMistake
	}
	return exitCodes[nodegate.AsError(err).Code]
}
