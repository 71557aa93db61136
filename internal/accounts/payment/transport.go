package payment

import (
	"io"
	"net/http"
)

// maxAnswer bounds what is read of an answer. Real ones have a few kilobytes.
const maxAnswer = 1 << 20

// discreet wraps a client so that it tells Stripe nothing about this machine,
// follows no redirect and reads bounded answers. The given client stays as it is.
func discreet(given *http.Client) *http.Client {
	c := &http.Client{Timeout: tryTime}
	if given != nil {
		*c = *given
	}
	if c.Timeout == 0 || c.Timeout > tryTime {
		c.Timeout = tryTime
	}
	next := c.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	c.Transport = discretion{next}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

// discretion takes out of each request what the library adds about the machine:
// a digest of its host name and hints at its environment.
type discretion struct{ next http.RoundTripper }

func (d discretion) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Del("X-Stripe-Client-User-Agent")
	r.Header.Set("User-Agent", "nodegate")
	res, err := d.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	res.Body = boundedBody{io.LimitReader(res.Body, maxAnswer), res.Body}
	return res, nil
}

type boundedBody struct {
	io.Reader
	io.Closer
}
