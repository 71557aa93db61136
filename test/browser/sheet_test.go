package browser

import (
	"context"
	"fmt"
	"html"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// pairs are pictures that show the same page: of a mock, and of the service.
var pairs = [][2]string{
	{"overview-1280-light", "busy-overview-light"}, {"overview-1280-dark", "busy-overview-dark"}, {"overview-phone", "busy-overview-phone"},
	{"overview-new-1280-light", "overview-waiting-light"}, {"usage-1280-light", "busy-usage-light"}, {"requests-1280-light", "busy-request-light"},
	{"requests-phone", "busy-requests-phone"}, {"playground-1280-light", "playground-light"}, {"key-1280-light", "busy-key-light"},
	{"files-1280-light", "busy-files-light"}, {"operator-nodes-1280-light", "operator-light"},
}

// TestSheet puts each page beside its mock, on one sheet for people to look at: from the pictures
// that TestPictures, TestStory and TestPlayground have made.
func TestSheet(t *testing.T) {
	shots, mocks := os.Getenv("NODEGATE_SHOTS"), os.Getenv("NODEGATE_MOCKS")
	if shots == "" || mocks == "" {
		t.Skip("the sheet is made where NODEGATE_SHOTS names a folder of pictures, and NODEGATE_MOCKS one of mocks")
	}
	page := filepath.Join(shots, "sheet.html")
	write(t, page, []byte(sheet(t, shots, mocks)))
	ctx := Open(t)
	Do(t, ctx, chromedp.EmulateViewport(1400, 900), chromedp.Navigate(fileURL(page)), chromedp.WaitVisible("body > h2"))
	write(t, filepath.Join(shots, "sheet.png"), Ask(t, ctx, chromedp.FullScreenshot(100)))
	missing(t, ctx)
}

// missing fails for pictures that the sheet couldn't show.
func missing(t *testing.T, ctx context.Context) {
	t.Helper()
	if list := Ask(t, ctx, chromedp.Evaluate[[]string](`[...document.images].filter(i => !i.naturalWidth).map(i => i.alt)`)); len(list) > 0 {
		t.Errorf("there is no picture of %s", strings.Join(list, ", "))
	}
}

func sheet(t *testing.T, shots, mocks string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("<!doctype html><title>Pages beside their mocks</title><style>img{width:49%;vertical-align:top}h2{font:16px sans-serif}</style>")
	for _, pair := range pairs {
		mock, ours := filepath.Join(mocks, pair[0]+".png"), filepath.Join(shots, pair[1]+".png")
		fmt.Fprintf(&b, "<h2>%s: mock, page</h2><img src=%q alt=%q> <img src=%q alt=%q>\n", html.EscapeString(pair[0]), fileURL(mock), pair[0], fileURL(ours), pair[1])
	}
	return b.String()
}

func fileURL(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }
