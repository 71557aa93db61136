package browser

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/nodegate/nodegate/test/full"
)

// screen is what somebody looks at the dashboard with.
type screen struct {
	width     int64
	mobile    bool
	theme     string
	noScripts bool
}

// usual is the screen of a browser that is open.
var usual = screen{width: 1280, theme: "light"}

type screenKey struct{}

// onScreens runs a story on a laptop, and without scripts on a phone in the dark theme. A full
// run has both screens in both themes, with scripts and without.
func onScreens(t *testing.T, run func(t *testing.T, ctx context.Context)) {
	phone := screen{width: 390, mobile: true, theme: "light"}
	screens := map[string]screen{"laptop": usual, "phone, dark, no scripts": phone.dark().still()}
	if full.Run() {
		screens["laptop, dark"], screens["phone"], screens["phone, dark"] = usual.dark(), phone, phone.dark()
		screens["laptop, no scripts"], screens["laptop, dark, no scripts"], screens["phone, no scripts"] = usual.still(), usual.dark().still(), phone.still()
	}
	for name, s := range screens {
		t.Run(name, func(t *testing.T) {
			ctx := context.WithValue(Open(t), screenKey{}, s)
			s.use(t, ctx)
			run(t, ctx)
		})
	}
}

func (s screen) dark() screen  { s.theme = "dark"; return s }
func (s screen) still() screen { s.noScripts = true; return s }

// use makes the browser one with this screen.
func (s screen) use(t *testing.T, ctx context.Context) {
	t.Helper()
	options := []chromedp.EmulateViewportOption{}
	if s.mobile {
		options = append(options, chromedp.EmulateMobile)
	}
	Do(t, ctx, inTheme(s.theme), chromedp.EmulateViewport(s.width, 900, options...), scripts(!s.noScripts))
}

// fitsScreen fails if a page is wider than its screen.
func fitsScreen(t *testing.T, ctx context.Context, page string) {
	t.Helper()
	s := of(ctx)
	if found := Ask(t, ctx, chromedp.Evaluate[[]string](overflow+fmt.Sprintf("(%d)", s.width))); len(found) > 0 {
		t.Errorf("%s at %d px:\n%s", page, s.width, strings.Join(found, "\n"))
	}
}

// of is the screen of a browser.
func of(ctx context.Context) screen {
	if s, ok := ctx.Value(screenKey{}).(screen); ok {
		return s
	}
	return usual
}

// scripted tells whether a page's scripts run.
func scripted(ctx context.Context) bool { return !of(ctx).noScripts }

// pictured tells whether pictures are taken on a screen: they show all of them, so once is enough.
func pictured(ctx context.Context) bool { return of(ctx) == usual }
