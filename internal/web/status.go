package web

import (
	"net/http"

	"github.com/nodegate/nodegate"
)

// statuses is the one table from codes to HTTP statuses. What is admitted
// is answered with 200, errors too: some clients hide the error otherwise.
var statuses = map[nodegate.Code]int{
	nodegate.Internal:            http.StatusInternalServerError,
	nodegate.ParseError:          http.StatusOK,
	nodegate.InvalidRequest:      http.StatusOK,
	nodegate.MethodNotFound:      http.StatusOK,
	nodegate.InvalidParams:       http.StatusOK,
	nodegate.Reverted:            http.StatusOK,
	nodegate.ExecutionFailed:     http.StatusOK,
	nodegate.NodeFault:           http.StatusOK,
	nodegate.OutsideHistory:      http.StatusOK,
	nodegate.Unverified:          http.StatusOK,
	nodegate.Timeout:             http.StatusOK,
	nodegate.ResponseTooLarge:    http.StatusOK,
	nodegate.NoNode:              http.StatusServiceUnavailable,
	nodegate.Busy:                http.StatusServiceUnavailable,
	nodegate.KeyRequired:         http.StatusUnauthorized,
	nodegate.KeyInvalid:          http.StatusUnauthorized,
	nodegate.SecretInvalid:       http.StatusUnauthorized,
	nodegate.Forbidden:           http.StatusForbidden,
	nodegate.UnknownNetwork:      http.StatusNotFound,
	nodegate.RateLimited:         http.StatusTooManyRequests,
	nodegate.CreditsSpent:        http.StatusPaymentRequired,
	nodegate.AccountBusy:         http.StatusTooManyRequests,
	nodegate.HTTPMethod:          http.StatusMethodNotAllowed,
	nodegate.TooLarge:            http.StatusRequestEntityTooLarge,
	nodegate.MediaType:           http.StatusUnsupportedMediaType,
	nodegate.UpgradeRequired:     http.StatusUpgradeRequired,
	nodegate.InvalidInput:        http.StatusUnprocessableEntity,
	nodegate.NotFound:            http.StatusNotFound,
	nodegate.Conflict:            http.StatusConflict,
	nodegate.SignInFailed:        http.StatusUnauthorized,
	nodegate.CardDeclined:        http.StatusPaymentRequired,
	nodegate.CardRequired:        http.StatusPaymentRequired,
	nodegate.QuotaReached:        http.StatusRequestEntityTooLarge,
	nodegate.InsufficientStorage: http.StatusInsufficientStorage,
	nodegate.Damaged:             http.StatusInternalServerError,
	nodegate.Mismatch:            http.StatusPreconditionFailed,
	nodegate.BadConfig:           http.StatusInternalServerError,
}

// Status maps a code to its HTTP status.
func Status(c nodegate.Code) int {
	if s, ok := statuses[c]; ok {
		return s
	}
	return http.StatusInternalServerError
}
