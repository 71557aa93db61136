package dashboard

import (
	"net/http"
	"testing"

	"github.com/nodegate/nodegate/internal/config"
)

// The status page is for everybody where it is on. A network that has its name keeps
// answering below it.
func TestStatusPage(t *testing.T) {
	_, off := Start(t, oneNetwork)
	off.Get("/status").Is(t, http.StatusNotFound)
	s, stranger := Start(t, func(c *config.Config) {
		c.Networks = append(c.Networks[:1:1], c.Networks[0])
		c.Networks[1].Name = "status"
		c.Dashboard.Status = true
	})
	stranger.Get("/status").Is(t, http.StatusOK).Has(t, "All networks are operational", "devnet").Lacks(t, s.Server.First().Email)
	res, err := http.Post(s.URL("status", s.Server.FirstKey().Value), "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || kind != "application/json" {
		t.Errorf("the network of that name: %d, %s", res.StatusCode, kind)
	}
}
