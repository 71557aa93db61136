package chart

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files anew")

var begin = time.Date(2026, 11, 15, 12, 37, 0, 0, time.UTC)

// wave is a series without chance.
func wave(n int, high, shift float64) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = math.Round(high * (1 + math.Sin(float64(i)/5+shift)) / 2)
	}
	return list
}

func traffic(n int) *Plot {
	return &Plot{
		ID: "requests", Title: "Requests by outcome", Begin: begin, Step: time.Minute,
		Series: []Series{{"ok", "ok", wave(n, 48_000, 0)}, {"errors", "errors", wave(n, 900, 2)}},
	}
}

func goldens() map[string]template.HTML {
	gap := wave(31, 900, 1)
	gap[4], gap[5], gap[30] = math.NaN(), math.NaN(), math.Inf(1)
	return map[string]template.HTML{
		"bars": traffic(16).SVG(),
		"lines": (&Plot{
			ID: "latency", Title: "Latency", Kind: Lines, Unit: Milliseconds, Begin: time.Date(2026, 10, 16, 0, 0, 0, 0, time.UTC), Step: 24 * time.Hour,
			Series: []Series{{"p50", "", wave(31, 40, 0)}, {"p95", "", wave(31, 400, 0)}, {"p99", "", gap}},
		}).SVG(),
		"empty": (&Plot{ID: "none", Title: "Nothing", Begin: begin, Step: time.Minute}).SVG(),
		"zeros": (&Plot{ID: "zeros", Title: "Zeros", Begin: begin, Step: time.Minute, Series: []Series{{"ok", "", make([]float64, 15)}}}).SVG(),
	}
}

// TestGolden: to see the drawings, open the files in a browser.
func TestGolden(t *testing.T) {
	for name, got := range goldens() {
		path := filepath.Join("testdata", name+".html")
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(want) != string(got) {
			t.Errorf("%s is not as in its file; after a look, run the test with -update", path)
		}
		if err := check(got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// forbidden is what a strict policy would not run, and what is no number. Attributes
// hold numbers and our own words only, so that a match in one is a fault.
var forbidden = regexp.MustCompile(`\b(style|on[a-z]+|href|src|fill|stroke|color)=|NaN|Inf|e[+-]\d`)

// check wants well-formed XML, and in attributes nothing that is forbidden.
func check(svg template.HTML) error {
	d := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if start.Name.Local == "script" || start.Name.Local == "style" {
			return fmt.Errorf("an element %s", start.Name.Local)
		}
		for _, a := range start.Attr {
			text := a.Name.Local + "=" + a.Value
			if text != "fill=none" && forbidden.MatchString(text) {
				return fmt.Errorf("an attribute %s", text)
			}
		}
	}
}

// TestCheck: the check itself bites.
func TestCheck(t *testing.T) {
	for _, bad := range []template.HTML{"<p>", "<p>&nbsp;</p>", `<p style="x"/>`, `<rect x="NaN"/>`, `<rect x="+Inf"/>`, `<rect x="1e+21"/>`, `<rect fill="red"/>`, `<script/>`, "<p>\x01</p>"} {
		if check(bad) == nil {
			t.Errorf("%q passes", bad)
		}
	}
}

func anyValues() *rapid.Generator[[]float64] {
	odd := rapid.SampledFrom([]float64{0, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 1e-300, 1e18, 1e19, -1, 0.5})
	return rapid.SliceOfN(rapid.OneOf(odd, rapid.Float64(), rapid.Float64Range(0, 1e6)), 0, 70)
}

// TestAlwaysWellFormed: whatever the values and texts are.
func TestAlwaysWellFormed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := func(name string) string {
			return string(rapid.SliceOf(rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte("<>&\"'")))).Draw(rt, name))
		}
		p := &Plot{
			ID: text("id"), Title: text("title"), Kind: Kind(rapid.IntRange(0, 1).Draw(rt, "kind")), Unit: Unit(rapid.IntRange(0, 3).Draw(rt, "unit")),
			Begin: time.Unix(rapid.Int64Range(-1e10, 1e11).Draw(rt, "begin"), 0),
			Step:  time.Duration(rapid.Int64Range(0, int64(40*24*time.Hour)).Draw(rt, "step")),
		}
		for range rapid.IntRange(0, 4).Draw(rt, "series") {
			values := anyValues().Draw(rt, "values")
			p.Series = append(p.Series, Series{text("name"), text("class"), values})
		}
		if svg := p.SVG(); check(svg) != nil {
			rt.Fatalf("%v in %s", check(svg), svg)
		}
	})
}

var rect = regexp.MustCompile(`<rect x="([0-9.]+)" y="([0-9.]+)" width="([0-9.]+)" height="([0-9.]+)"><title>([^<]*)</title></rect>`)

// TestBars: each bar stands on the one below it, within the drawing, and says its
// time and value; the table has all values.
func TestBars(t *testing.T) {
	p := traffic(60)
	svg := string(p.SVG())
	if len(svg) > 30_000 {
		t.Errorf("%d bytes for 60 points of two series", len(svg))
	}
	bars := rect.FindAllStringSubmatch(svg, -1)
	drawn := 0
	for _, s := range p.Series {
		for _, v := range s.Values {
			if v > 0 {
				drawn++
			}
		}
	}
	if len(bars) != drawn {
		t.Fatalf("%d bars, want %d", len(bars), drawn)
	}
	for _, b := range bars {
		var x, y, w, h float64
		if _, err := fmt.Sscan(strings.Join(b[1:5], " "), &x, &y, &w, &h); err != nil {
			t.Fatal(err)
		}
		if x < left || x+w > p.width()-right+0.1 || y < top-0.1 || y+h > height-under+0.2 {
			t.Errorf("%s is outside", b[0])
		}
	}
	if want := "15 Nov 12:37 UTC: 24,000 ok"; bars[0][5] != want {
		t.Errorf("the first bar says %q, want %q", bars[0][5], want)
	}
	for i := range 60 {
		row := fmt.Sprintf(`<tr><th scope="row" data-at="%s">%s</th><td>%s</td><td>%s</td></tr>`, p.at(i).Format(time.RFC3339), p.at(i).Format("2006-01-02 15:04"), grouped(p.Series[0].Values[i]), grouped(p.Series[1].Values[i]))
		if !strings.Contains(svg, row) {
			t.Errorf("the table lacks %s", row)
		}
	}
}

// TestLimit: a limit is drawn where it is in reach, and below it stays room for the values.
func TestLimit(t *testing.T) {
	for limit, drawn := range map[float64]bool{0: false, 40_000: true, 60_000: true, 900_000: true, 2_000_000: false, math.Inf(1): false, math.NaN(): false, -5: false} {
		p := traffic(16)
		p.Limit = limit
		svg := string(p.SVG())
		if strings.Contains(svg, "chart-limit") != drawn || strings.Contains(svg, ">limit ") != drawn || strings.Contains(svg, "NaN") {
			t.Errorf("a limit of %v is drawn: %v", limit, !drawn)
		}
	}
}

// TestNarrow: a narrow drawing has the same bars in half of the width, and half of the times.
func TestNarrow(t *testing.T) {
	p := traffic(60)
	labels := regexp.MustCompile(`text-anchor="middle"`)
	before := rect.FindAllStringSubmatch(string(p.SVG()), -1)
	p.Narrow = true
	svg := string(p.SVG())
	bars := rect.FindAllStringSubmatch(svg, -1)
	if n := len(labels.FindAllString(svg, -1)); len(bars) != len(before) || n < 2 || n > 5 || !strings.Contains(svg, `class="chart-plot chart-narrow" viewBox="0 0 360 240"`) {
		t.Fatalf("%d bars and %d labels: %.200s", len(bars), n, svg)
	}
	for _, b := range bars {
		var x, w float64
		if _, err := fmt.Sscan(b[1]+" "+b[3], &x, &w); err != nil || x < left || x+w > narrow-right+0.1 {
			t.Errorf("%s is outside: %v", b[0], err)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		unit Unit
		most float64
		want string
	}{
		{Count, 0, "0 1"}, {Count, 1, "0 1"}, {Count, 3, "0 1 2 3"}, {Count, 7, "0 2 4 6 8"}, {Count, 48_900, "0 10k 20k 30k 40k 50k"}, {Count, 1e18, "0 200P 400P 600P 800P 1E"},
		{Milliseconds, 0.3, "0 100 µs 200 µs 300 µs"}, {Milliseconds, 870, "0 200 ms 400 ms 600 ms 800 ms 1 s"}, {Milliseconds, 4200, "0 1 s 2 s 3 s 4 s 5 s"},
		{Bytes, 3 << 20, "0 1 MiB 2 MiB 3 MiB"}, {Percent, 87, "0 20 % 40 % 60 % 80 % 100 %"},
	} {
		var got []string
		for _, v := range c.unit.ticks(c.most) {
			got = append(got, c.unit.short(v))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v of unit %d: %s, want %s", c.most, c.unit, strings.Join(got, " "), c.want)
		}
	}
}

func TestTexts(t *testing.T) {
	for _, c := range []struct {
		unit Unit
		v    float64
		want string
	}{
		{Count, 1234567, "1,234,567"}, {Count, 12, "12"}, {Count, 0, "0"}, {Count, math.MaxFloat64, "1,000,000,000,000,000,000"}, {Count, math.NaN(), "none"},
		{Milliseconds, 1.234, "1.23 ms"}, {Milliseconds, 0.05, "50 µs"}, {Milliseconds, 12_340, "12.3 s"}, {Milliseconds, 0, "0 ms"}, {Milliseconds, 120_000, "2 min"},
		{Bytes, 1536, "1.50 KiB"}, {Bytes, 0, "0 B"}, {Percent, 12.34, "12.3 %"}, {Count, -5, "0"},
	} {
		if got := c.unit.Text(c.v); got != c.want {
			t.Errorf("%v of unit %d: %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}

// TestTimes: the labels below a plot are few, and of the kind that the range needs.
func TestTimes(t *testing.T) {
	label := regexp.MustCompile(`text-anchor="middle" x="[^"]*" y="[^"]*">([^<]*)<`)
	for _, c := range []struct {
		name   string
		begin  time.Time
		step   time.Duration
		points int
		want   string
	}{
		{"15m", begin, time.Minute, 16, "12:38 12:40 12:42 12:44 12:46 12:48 12:50 12:52"},
		{"1h", begin, time.Minute, 61, "12:40 12:50 13:00 13:10 13:20 13:30"},
		{"24h", begin.Truncate(time.Hour), time.Hour, 25, "12:00 15:00 18:00 21:00 00:00 03:00 06:00 09:00 12:00"},
		{"7d", begin.Truncate(24 * time.Hour), 3 * time.Hour, 64, "15 Nov 16 Nov 17 Nov 18 Nov 19 Nov 20 Nov 21 Nov 22 Nov"},
		{"another zone", begin.In(time.FixedZone("far", 3600)), time.Minute, 6, "12:37 12:38 12:39 12:40 12:41 12:42"},
	} {
		p := &Plot{Begin: c.begin, Step: c.step, Series: []Series{{Values: make([]float64, c.points)}}}
		var got []string
		for _, m := range label.FindAllStringSubmatch(string(p.SVG()), -1) {
			got = append(got, m[1])
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s, want %s", c.name, strings.Join(got, " "), c.want)
		}
	}
}

func BenchmarkSVG(b *testing.B) {
	p := traffic(60)
	for b.Loop() {
		p.SVG()
	}
}
