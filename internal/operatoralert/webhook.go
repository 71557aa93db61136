package operatoralert

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Signature is the header that a webhook is signed with: t=SECONDS,v1=HEX, where HEX is the
// HMAC-SHA256 of the seconds, a dot and the body.
const Signature = "X-Nodegate-Signature"

// maxAnswer is how much of a webhook's response is read, so that the connection can be kept.
const maxAnswer = 64 << 10

// Webhook posts messages to a URL of the operator. It follows no redirects: the operator didn't
// choose where they lead. No error holds the URL, which may be a secret.
func Webhook(address, secret string) Channel {
	client := &http.Client{
		Timeout:       sendTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext, TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: time.Minute},
	}
	return Channel{Name: "webhook", Send: func(ctx context.Context, m Message) error {
		req, err := newRequest(ctx, address, secret, m)
		if err != nil {
			return err
		}
		res, err := client.Do(req)
		if err != nil {
			return withoutURL(err)
		}
		_, _ = io.CopyN(io.Discard, res.Body, maxAnswer)
		_ = res.Body.Close()
		if res.StatusCode < 200 || res.StatusCode > 299 {
			return fmt.Errorf("the webhook answers with status %d", res.StatusCode)
		}
		return nil
	}}
}

func newRequest(ctx context.Context, address, secret string, m Message) (*http.Request, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the URL of the webhook can't be used")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "nodegate")
	if secret != "" {
		req.Header.Set(Signature, sign(secret, time.Now(), body))
	}
	return req, nil
}

// sign is the value of the header. The time lets receivers refuse what is sent again.
func sign(secret string, now time.Time, body []byte) string {
	seconds := strconv.FormatInt(now.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(seconds + "."))
	mac.Write(body)
	return "t=" + seconds + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}

func withoutURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}
