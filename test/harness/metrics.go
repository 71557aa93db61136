package harness

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/obs"
)

// Metric is one metric as the admin listener shows it.
type Metric struct {
	Type, Help string
	Labels     []string // without the histogram's own
}

var (
	metricType  = regexp.MustCompile(`(?m)^# TYPE (\w+) (\w+)$`)
	metricLabel = regexp.MustCompile(`(\w+)="`)
)

// MetricTexts are metrics as Prometheus reads them: from two real servers, one with either
// engine of the storage gateway, and from the registry for what needs remote nodes, Redis or
// certificates.
func MetricTexts(t testing.TB) []string {
	t.Helper()
	return []string{remoteMetrics(), scrape(t, Start(t, nil)), scrape(t, Start(t, func(c *config.Config) {
		c.Networks, c.DefaultNetwork = c.Networks[:1], c.Networks[0].Name
		c.Storage.Engine, c.Storage.Kubo.Endpoints = "kubo", []config.KuboEndpoint{{URL: "http://127.0.0.1:1"}}
	}))}
}

// Metrics reads what the metrics are.
func Metrics(t testing.TB) map[string]Metric {
	t.Helper()
	exposed := map[string]Metric{}
	for _, text := range MetricTexts(t) {
		for _, m := range metricType.FindAllStringSubmatch(text, -1) {
			exposed[m[1]] = Metric{Type: m[2], Help: helpOf(text, m[1]), Labels: labelsOf(text, m[1])}
		}
	}
	return exposed
}

// scrape reads the metrics of a server that has refused a request.
func scrape(t testing.TB, s *Service) string {
	t.Helper()
	for _, req := range []func(context.Context) (*http.Request, error){
		func(ctx context.Context) (*http.Request, error) {
			return http.NewRequestWithContext(ctx, http.MethodPost, s.URL("devnet", "none"), strings.NewReader("{}"))
		},
		func(ctx context.Context) (*http.Request, error) {
			return http.NewRequestWithContext(ctx, http.MethodGet, s.Admin+"/metrics", nil)
		},
	} {
		text, err := read(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if metricType.MatchString(text) {
			return text
		}
	}
	t.Fatal("no metrics")
	return ""
}

func read(ctx context.Context, make func(context.Context) (*http.Request, error)) (string, error) {
	req, err := make(ctx)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(res.Body)
	return string(text), errors.Join(err, res.Body.Close())
}

// remoteMetrics is what a server with remote nodes, Redis and certificates shows beyond one
// without.
func remoteMetrics() string {
	m := obs.NewMetrics()
	m.Method("main", "eth_call").Cached(nodegate.CacheHit)
	m.Method("main", "eth_call").Verified(nodegate.LevelNone)
	m.Ledgers(func(show func(string, *obs.LedgerFigures)) { show("main", &obs.LedgerFigures{}) })
	m.Caches(func(show func(string, int, int64)) { show("main", 1, 1) })
	m.Redis(func() bool { return true })
	m.Certificate("storage", time.Now())
	node := m.Nodes().Node("main", "a")
	node.Done("eth_call", "ok", time.Millisecond, "")
	node.Extra("hedge")
	node.Set(true, false, 1, 0, 0)
	page := httptest.NewRecorder()
	m.Handler().ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return page.Body.String()
}

func helpOf(text, name string) string {
	help := regexp.MustCompile(`(?m)^# HELP ` + name + ` (.*)$`).FindStringSubmatch(text)
	if help == nil {
		return ""
	}
	return help[1]
}

// labelsOf lists the labels of a metric's first sample.
func labelsOf(text, name string) (labels []string) {
	sample := regexp.MustCompile(`(?m)^` + name + `(?:_bucket)?\{(.*)\}`).FindStringSubmatch(text)
	if sample == nil {
		return nil
	}
	for _, m := range metricLabel.FindAllStringSubmatch(sample[1], -1) {
		if m[1] != "le" {
			labels = append(labels, m[1])
		}
	}
	return labels
}
