package browser

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/harness"
)

// Pictures of a service that is in use, for people to look at: a day of usage, and the
// operator's pages.
func TestPictures(t *testing.T) {
	if os.Getenv("NODEGATE_SHOTS")+os.Getenv("NODEGATE_IMAGES") == "" {
		t.Skip("pictures are made where NODEGATE_SHOTS or NODEGATE_IMAGES names a folder for them")
	}
	s := harness.Start(t, nil)
	useADay(t, s)
	ctx := Open(t)
	SignIn(t, ctx, s)
	for _, page := range []struct{ name, path string }{
		{"busy-overview", "/"}, {"busy-usage", "/usage"}, {"operator", "/operator"}, {"operator-accounts", "/operator/accounts"},
		{"operator-audit", "/operator/audit"}, {"operator-system", "/operator/system"},
		{"operator-account", "/operator/accounts/" + s.Server.FirstKey().Key.AccountID}, {"nothing", "/nothing/here"},
	} {
		Do(t, ctx, chromedp.Navigate(localhost(s.RPC)+page.path), chromedp.WaitVisible("h1"))
		shoot(t, ctx, page.name)
		picture(t, ctx, page.name)
	}
}

// inReadme are the pictures of the README, by the names of their files.
var inReadme = map[string]string{"busy-overview": "overview.png", "busy-usage": "usage.png"}

// picture writes one for the README to the folder in NODEGATE_IMAGES, seen from the root of
// the repository; without one it does nothing.
func picture(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	dir, file := os.Getenv("NODEGATE_IMAGES"), inReadme[name]
	if dir == "" || file == "" {
		return
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join("..", "..", dir)
	}
	Do(t, ctx, inTheme("light"), chromedp.EmulateViewport(1280, 900))
	write(t, filepath.Join(dir, file), Ask(t, ctx, chromedp.FullScreenshot(100)))
}

// useADay records what a busy app does: more by day than by night, a few failures.
func useADay(t *testing.T, s *harness.Service) {
	t.Helper()
	first := s.Server.FirstKey().Key
	random, now := rand.New(rand.NewPCG(1, 2)), time.Now().UTC()
	batch := &nodegate.UsageBatch{Server: "pictures", Number: 1}
	for minute := range 24 * 60 {
		at := now.Add(-time.Duration(minute) * time.Minute).Truncate(time.Minute)
		busy := 1.2 - math.Cos(2*math.Pi*(float64(at.Hour())+float64(at.Minute())/60)/24)
		for method, share := range map[string]float64{"eth_call": 60, "eth_getBlockReceipts": 12, "eth_blockNumber": 30, "eth_getProof": 4, "eth_estimateGas": 9} {
			for outcome, part := range map[string]float64{nodegate.OutcomeOK: 0.98, nodegate.Reverted.String(): 0.02} {
				n := int64(busy * share * part * (0.7 + 0.6*random.Float64()))
				if n == 0 {
					continue
				}
				u := nodegate.Usage{UsageKey: nodegate.UsageKey{AccountID: first.AccountID, KeyID: first.ID, Network: "devnet", Method: method, Outcome: outcome}, At: at, Requests: n, Credits: n * 80}
				u.Latency[2+random.IntN(3)] = n
				batch.Rows = append(batch.Rows, u)
			}
		}
	}
	if err := s.Server.Control().Store.AddUsage(context.Background(), batch); err != nil {
		t.Fatal(err)
	}
}
