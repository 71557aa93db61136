package web

import (
	"net/http"
	"testing"

	"github.com/nodegate/nodegate"
)

// contractStatuses is the table of errors as the contract has it. Codes that are
// not there are answered with 200: they are about the call, not about the authenticator.
var contractStatuses = map[nodegate.Code]int{
	nodegate.Internal:            500,
	nodegate.BadConfig:           500,
	nodegate.QuotaReached:        413,
	nodegate.InsufficientStorage: 507,
	nodegate.Damaged:             500,
	nodegate.Mismatch:            412,
	nodegate.NoNode:              503,
	nodegate.Busy:                503,
	nodegate.KeyRequired:         401,
	nodegate.KeyInvalid:          401,
	nodegate.SecretInvalid:       401,
	nodegate.Forbidden:           403,
	nodegate.UnknownNetwork:      404,
	nodegate.RateLimited:         429,
	nodegate.CreditsSpent:        402,
	nodegate.AccountBusy:         429,
	nodegate.HTTPMethod:          405,
	nodegate.TooLarge:            413,
	nodegate.MediaType:           415,
	nodegate.UpgradeRequired:     426,
	nodegate.InvalidInput:        422,
	nodegate.NotFound:            404,
	nodegate.Conflict:            409,
	nodegate.SignInFailed:        401,
	nodegate.CardDeclined:        402,
	nodegate.CardRequired:        402,
}

func TestEveryCodeHasAStatus(t *testing.T) {
	for _, code := range nodegate.Codes() {
		if _, ok := statuses[code]; !ok {
			t.Errorf("%v has no row", code)
		}
		want, ok := contractStatuses[code]
		if !ok {
			want = http.StatusOK
		}
		if got := Status(code); got != want {
			t.Errorf("%v is %d, want %d", code, got, want)
		}
	}
	if len(statuses) != len(nodegate.Codes()) {
		t.Errorf("%d rows for %d codes", len(statuses), len(nodegate.Codes()))
	}
	if got := Status(nodegate.Code(250)); got != http.StatusInternalServerError {
		t.Errorf("a code from nowhere is %d", got)
	}
}
