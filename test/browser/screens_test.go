package browser

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/nodegate/nodegate/test/full"
)

// screen is what somebody looks at the dashboard with.
type screen struct {
	width  int64
	mobile bool
	theme  string
}

// usual is the screen of a browser that is open.
var usual = screen{1280, false, "light"}

type screenKey struct{}

// onScreens runs a story on a laptop and a phone, one in the light and one in the dark theme. A
// full run has both themes on both.
func onScreens(t *testing.T, run func(t *testing.T, ctx context.Context)) {
	phone := screen{390, true, "dark"}
	screens := map[string]screen{"laptop": usual, "phone, dark": phone}
	if full.Run() {
		screens["laptop, dark"], screens["phone"] = screen{usual.width, false, "dark"}, screen{phone.width, true, "light"}
	}
	for name, s := range screens {
		t.Run(name, func(t *testing.T) {
			ctx := context.WithValue(Open(t), screenKey{}, s)
			s.use(t, ctx)
			run(t, ctx)
		})
	}
}

// use makes the browser one with this screen.
func (s screen) use(t *testing.T, ctx context.Context) {
	t.Helper()
	options := []chromedp.EmulateViewportOption{}
	if s.mobile {
		options = append(options, chromedp.EmulateMobile)
	}
	Do(t, ctx, inTheme(s.theme), chromedp.EmulateViewport(s.width, 900, options...))
}

// pictured tells whether pictures are taken on a screen: they show all of them, so once is enough.
func pictured(ctx context.Context) bool {
	s, ok := ctx.Value(screenKey{}).(screen)
	return !ok || s == usual
}
