package account

import (
	"encoding/base64"
	"encoding/json"
	"time"
)

// Receipt is what the page after the creation or the rotation of a key shows. A secret is
// never stored, so the browser carries the receipt from the change to the page, sealed:
// reloading that page repeats nothing, whichever server answers.
type Receipt struct {
	Rotated bool      `json:"rotated,omitempty"`
	Value   bool      `json:"value,omitempty"`  // the key is new
	Secret  string    `json:"secret,omitempty"` // "" where it is not new
	Until   time.Time `json:"until"`            // when the receipt expires
}

// receiptContext binds a receipt to an account and a key. No key's ID looks like it, so a
// sealed key can't pass for a receipt.
func receiptContext(accountID, keyID string) string { return "receipt " + accountID + " " + keyID }

// SealReceipt encrypts a receipt as text for a cookie.
func (s *apiKeys) SealReceipt(accountID, keyID string, r Receipt) (string, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.vault.Seal(receiptContext(accountID, keyID), string(text))), nil
}

// OpenReceipt reads what SealReceipt wrote for the same account and key. What was changed,
// or has expired, is no receipt.
func (s *apiKeys) OpenReceipt(accountID, keyID, sealed string) (r Receipt, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return Receipt{}, false
	}
	text, err := s.vault.Unseal(receiptContext(accountID, keyID), raw)
	if err != nil || json.Unmarshal([]byte(text), &r) != nil || !now().Before(r.Until) {
		return Receipt{}, false
	}
	return r, true
}
