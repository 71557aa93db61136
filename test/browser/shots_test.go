package browser

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// shoot writes a picture of the page in both themes, and of a phone's screen, to the
// folder in NODEGATE_SHOTS; without one it does nothing.
func shoot(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	dir := os.Getenv("NODEGATE_SHOTS")
	if dir == "" || !pictured(ctx) {
		return
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, theme := range []string{"light", "dark"} {
		Do(t, ctx, inTheme(theme), chromedp.EmulateViewport(1280, 900))
		Ask(t, ctx, chromedp.Evaluate[bool](`scrollTo(0, 0), true`))
		write(t, filepath.Join(dir, name+"-"+theme+".png"), Ask(t, ctx, chromedp.FullScreenshot(100)))
		Do(t, ctx, chromedp.EmulateViewport(390, 800, chromedp.EmulateMobile))
		// As high as the page: what is fixed to the bottom of the screen is below the content.
		high := Ask(t, ctx, chromedp.Evaluate[int64](`document.documentElement.scrollHeight`))
		Do(t, ctx, chromedp.EmulateViewport(390, max(high, 800), chromedp.EmulateMobile))
		write(t, filepath.Join(dir, name+map[string]string{"light": "-phone.png", "dark": "-phone-dark.png"}[theme]), Ask(t, ctx, chromedp.FullScreenshot(100)))
	}
	Do(t, ctx, inTheme("light"), chromedp.EmulateViewport(1280, 900))
}

// inTheme is what a system says that prefers a theme.
func inTheme(theme string) Step {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}},
		})
		return err
	})
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
