package dashboard

import "github.com/nodegate/nodegate"

// explanations say in one sentence what an outcome means and what to do about it.
var explanations = map[nodegate.Code]string{
	nodegate.Internal:            "Something failed inside nodegate. The server's log has the cause under the id in the error.",
	nodegate.ParseError:          "The body isn't JSON, or has bytes after the JSON.",
	nodegate.InvalidRequest:      "The body is JSON but not a JSON-RPC request, or its batch is empty or too large.",
	nodegate.MethodNotFound:      "This network doesn't offer the method. Check its spelling and the network's namespaces.",
	nodegate.InvalidParams:       "A parameter is missing, or has the wrong type or form. Arguments are counted from 0.",
	nodegate.Reverted:            "The contract reverted the call. The error has the reason, if the contract gave one.",
	nodegate.ExecutionFailed:     "The node executed the call, and the execution failed.",
	nodegate.NodeFault:           "The node refused the call with an error code that only this node uses.",
	nodegate.OutsideHistory:      "The block is older than the history that this network keeps. Request a newer one.",
	nodegate.Timeout:             "The call took longer than this server allows. Request less, such as a smaller range of blocks.",
	nodegate.ResponseTooLarge:    "The response is larger than this server allows. Request less at once.",
	nodegate.Unverified:          "This network only gives verified responses, and this one could not be verified.",
	nodegate.NoNode:              "No node of this network could be reached. Try again in a moment.",
	nodegate.Busy:                "The server was overloaded or shutting down. Try again in a moment.",
	nodegate.KeyRequired:         "The request has no API key.",
	nodegate.KeyInvalid:          "The API key is unknown or revoked.",
	nodegate.SecretInvalid:       "The key requires its secret, and the secret was missing or wrong.",
	nodegate.Forbidden:           "The key's settings don't allow this request. The error names the setting.",
	nodegate.UnknownNetwork:      "There is no network of that name. Check the URL.",
	nodegate.RateLimited:         "Rate limit reached: this second's credits were used up. Send fewer requests at once, or change the plan.",
	nodegate.CreditsSpent:        "A daily limit was reached: credits, or what transactions add to an embedded network. It resets at 00:00 UTC.",
	nodegate.AccountBusy:         "The account used its whole share of this server. Send fewer requests at once.",
	nodegate.HTTPMethod:          "The request wasn't a POST.",
	nodegate.TooLarge:            "The request is larger than this server allows. Send less at once.",
	nodegate.MediaType:           "The content type wasn't application/json.",
	nodegate.UpgradeRequired:     "This URL serves WebSockets only. Use the HTTP endpoint for a plain request.",
	nodegate.InvalidInput:        "A value has the wrong form. The error names it.",
	nodegate.NotFound:            "The requested object wasn't found.",
	nodegate.Conflict:            "Something changed at the same time. Try again.",
	nodegate.SignInFailed:        "The e-mail address or the password was wrong.",
	nodegate.CardDeclined:        "The payment processor declined the card.",
	nodegate.CardRequired:        "Storage requires a billing card. Add one on the Billing page.",
	nodegate.QuotaReached:        "The account has reached its quota. Unpin something, or change the plan.",
	nodegate.InsufficientStorage: "The server's disk is almost full. Reading still works.",
	nodegate.Damaged:             "A stored block is damaged. Adding the content again repairs it.",
	nodegate.Mismatch:            "The upload doesn't match what the client announced.",
	nodegate.BadConfig:           "The server's configuration doesn't allow this.",
}

// explain is the sentence of an outcome; "" for one that needs none.
func explain(outcome string) string {
	for code, text := range explanations {
		if code.String() == outcome {
			return text
		}
	}
	return ""
}

// tone is the color of an outcome: limits are amber, other failures red.
func tone(outcome string) string {
	switch outcome {
	case nodegate.OutcomeOK:
		return "good"
	case nodegate.RateLimited.String(), nodegate.CreditsSpent.String(), nodegate.AccountBusy.String():
		return "warn"
	}
	return "bad"
}
