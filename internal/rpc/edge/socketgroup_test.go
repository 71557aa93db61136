package edge

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/nodegate/nodegate/internal/rpc/ws"
	"github.com/nodegate/nodegate/test/full"
)

// TestPing: a peer that owes an answer to the last ping is cut, one that answers stays.
func TestPing(t *testing.T) {
	full.Slow(t)
	made := make(chan *socket)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		conn, err := ws.Accept(w, req, 1<<10)
		if err != nil {
			t.Error(err)
			return
		}
		s := &socket{conn: conn}
		s.ctx, s.cancel = context.WithCancel(context.Background())
		made <- s
		_ = conn.Wait()
	}))
	defer srv.Close()
	for name, answers := range map[string]bool{"silent": false, "answering": true} {
		t.Run(name, func(t *testing.T) {
			heard := make(chan struct{}, 2)
			c, _, err := websocket.Dial(t.Context(), srv.URL, &websocket.DialOptions{OnPingReceived: func(context.Context, []byte) bool {
				heard <- struct{}{}
				return true
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer c.CloseNow()
			if answers {
				c.CloseRead(t.Context())
			}
			s := <-made
			s.ping()
			if s.ctx.Err() != nil || !s.pinged.Load() {
				t.Fatal("the first ping expects nothing")
			}
			if answers {
				<-heard
				time.Sleep(time.Second) // for the answer
			}
			s.ping()
			if alive := s.ctx.Err() == nil; alive != answers {
				t.Errorf("alive: %t", alive)
			}
		})
	}
}
