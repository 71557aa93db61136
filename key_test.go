package nodegate

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestSettingsForms(t *testing.T) {
	address := "0xFBFBFDDD6E35DA57B7B0F9A2C10E34BE70B3A4E9"
	good := KeySettings{
		Methods: []string{"eth_call", "debug_traceCall", "linea_estimateGas"}, Addresses: []string{address},
		Origins: []string{"https://App.example.com/", "https://*.example.com", "http://localhost:3000", "chrome-extension://abcdef"}, UserAgents: []string{"ethers/"},
	}
	if err := good.Normalize(); err != nil {
		t.Fatal(err)
	}
	if good.Addresses[0] != strings.ToLower(address) || good.Origins[0] != "https://app.example.com" {
		t.Errorf("not normalized: %+v", good)
	}
	many := strings.Split(strings.Repeat("eth_call,", 30)+"eth_call", ",")
	for name, s := range map[string]KeySettings{
		"a method without a namespace": {Methods: []string{"call"}},
		"an empty method":              {Methods: []string{""}},
		"a method with a space":        {Methods: []string{"eth_ call"}},
		"a short address":              {Addresses: []string{address[:41]}},
		"an address without 0x":        {Addresses: []string{address[2:] + "00"}},
		"an origin with a path":        {Origins: []string{"https://a.com/b"}},
		"an origin with a query":       {Origins: []string{"https://a.com?"}},
		"an origin with a fragment":    {Origins: []string{"https://a.com#"}},
		"an origin with a user":        {Origins: []string{"https://u@a.com"}},
		"a star without a domain":      {Origins: []string{"https://*."}},
		"two stars":                    {Origins: []string{"https://*.*.com"}},
		"a bare host":                  {Origins: []string{"a.com"}},
		"a bare star":                  {Origins: []string{"*"}},
		"an empty agent":               {UserAgents: []string{""}},
		"an agent with a line break":   {UserAgents: []string{"a\r\nb"}},
		"a long agent":                 {UserAgents: []string{strings.Repeat("a", 257)}},
		"31 methods":                   {Methods: many},
		"a negative rate":              {CreditsPerSecond: -1},
		"a negative day":               {CreditsPerDay: -1},
	} {
		if err := s.Normalize(); !errors.Is(err, InvalidInput) {
			t.Errorf("%s: %v, want invalid input", name, err)
		}
	}
	many = many[:30]
	if err := (&KeySettings{Methods: many}).Normalize(); err != nil {
		t.Errorf("30 methods: %v", err)
	}
}

// TestSettingsSize: the settings of a key have a bound in all. Those from before stay and can
// shrink.
func TestSettingsSize(t *testing.T) {
	agents := func(n, length int) (s KeySettings) {
		for range n {
			s.UserAgents = append(s.UserAgents, strings.Repeat("a", length))
		}
		return s
	}
	small, large, larger := agents(30, 250), agents(30, 256), agents(30, 256)
	small.Methods = []string{"eth_call"}
	for range 30 {
		large.Origins = append(large.Origins, "https://app.example.com")
		larger.Origins = append(larger.Origins, "https://an.app.example.com")
	}
	if err := small.CheckSize(&KeySettings{}); err != nil {
		t.Errorf("%v", err)
	}
	err := large.CheckSize(&KeySettings{})
	if !errors.Is(err, InvalidInput) || !strings.Contains(err.Error(), "8,192 bytes") || !strings.Contains(err.Error(), "8579 bytes") {
		t.Errorf("too large: %v", err)
	}
	if err := large.CheckSize(&larger); err != nil {
		t.Errorf("settings that shrink: %v", err)
	}
	if err := large.CheckSize(&large); err != nil {
		t.Errorf("settings that stay: %v", err)
	}
	if err := larger.CheckSize(&large); !errors.Is(err, InvalidInput) {
		t.Errorf("settings that grow: %v", err)
	}
}

// TestNormalizeCopies leaves what the caller holds as it is.
func TestNormalizeCopies(t *testing.T) {
	mine := []string{"HTTPS://A.COM"}
	s := KeySettings{Origins: mine}
	if err := s.Normalize(); err != nil || mine[0] != "HTTPS://A.COM" || s.Origins[0] != "https://a.com" {
		t.Errorf("%v, mine %v, its %v", err, mine, s.Origins)
	}
}

func TestKeyNames(t *testing.T) {
	for name, ok := range map[string]bool{"": true, "my key": true, strings.Repeat("ä", 64): true, strings.Repeat("a", 65): false, "a\nb": false, "\x1b[31m": false, "\u009b31m": false} {
		if err := CheckKeyName(name); (err == nil) != ok {
			t.Errorf("%q: %v, want good %v", name, err, ok)
		}
	}
}

// TestCardValid holds to the last moment of its last month, in UTC.
func TestCardValid(t *testing.T) {
	c := &Card{ExpMonth: 12, ExpYear: 2030}
	end := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	if !c.Valid(end.Add(-time.Nanosecond)) || c.Valid(end) || (*Card)(nil).Valid(end) {
		t.Error("the card's end is wrong")
	}
}

func TestQuantiles(t *testing.T) {
	var h Histogram
	if h.Quantile(0.5) != 0 {
		t.Error("nothing has a median")
	}
	for range 99 {
		h[Bucket(100*time.Microsecond)]++
	}
	h[Bucket(3*time.Second)]++
	if p50 := h.Quantile(0.5); p50 < 64*time.Microsecond || p50 > 128*time.Microsecond {
		t.Errorf("the median is %v", p50)
	}
	if p100 := h.Quantile(1); p100 < 2*time.Second || p100 > 5*time.Second {
		t.Errorf("the largest is %v", p100)
	}
	for d, want := range map[time.Duration]int{
		-1: 0, 0: 0, 31 * time.Microsecond: 0, 32 * time.Microsecond: 1, 63 * time.Microsecond: 1, 64 * time.Microsecond: 2, 95 * time.Microsecond: 2, 96 * time.Microsecond: 3,
		128 * time.Microsecond: 4, 33 * time.Second: HistogramSize - 1, 34 * time.Second: HistogramSize - 1, time.Hour: HistogramSize - 1,
	} {
		if got := Bucket(d); got != want {
			t.Errorf("%v is in %d, want %d", d, got, want)
		}
	}
}

// TestQuantilesAreNear: whatever the one duration is, every percentile of it is at most half
// of it away.
func TestQuantilesAreNear(t *testing.T) {
	for d := 64 * time.Microsecond; d < 30*time.Second; d += d / 7 {
		var h Histogram
		h[Bucket(d)] = 1000
		low, high := spanOf(Bucket(d))
		if d < low || d >= high {
			t.Errorf("%v is counted between %v and %v", d, low, high)
		}
		for _, q := range []float64{0.01, 0.5, 0.95, 0.99} {
			if got := h.Quantile(q); got < d*2/3 || got > d*3/2 {
				t.Errorf("percentile %v of %v is %v", q, d, got)
			}
		}
	}
}

// TestGrantEnds closes for those who asked before and those who ask after.
func TestGrantEnds(t *testing.T) {
	g, end := NewGrant("a", "k", nil)
	before := g.Ended()
	select {
	case <-before:
		t.Fatal("it has ended already")
	default:
	}
	end()
	end()
	<-before
	<-g.Ended()
	late, endLate := NewGrant("a", "k", nil)
	endLate()
	<-late.Ended()
}
