package obs

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nodegate/nodegate"
)

// operations of the account store.
const (
	readOperation  = "read"
	writeOperation = "write"
)

// AccountStore registers the metrics of the account store, and returns what counts one
// operation. up tells whether the store answers.
func (m *Metrics) AccountStore(up func() bool) func(write bool, took time.Duration, err error) {
	latency := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "nodegate_store_duration_seconds", Help: "Latency of the account store, by operation: read or write. A write is a whole transaction.",
		Buckets: remoteSteps(),
	}, []string{"operation"})
	failed := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "nodegate_store_errors_total", Help: "Failed operations of the account store: the database was unreachable, locked or faulty.",
	}, []string{"operation"})
	m.registry.MustRegister(latency, failed, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "nodegate_store_up", Help: "1 while the account store answers. Without it known keys work for five minutes.",
	}, number(up)))
	reads, writes := latency.WithLabelValues(readOperation), latency.WithLabelValues(writeOperation)
	failedReads, failedWrites := failed.WithLabelValues(readOperation), failed.WithLabelValues(writeOperation)
	return func(write bool, took time.Duration, err error) {
		observer, counter := reads, failedReads
		if write {
			observer, counter = writes, failedWrites
		}
		observer.Observe(took.Seconds())
		if (errors.Is(err, nodegate.Busy) || errors.Is(err, nodegate.Internal)) && !errors.Is(err, context.Canceled) {
			counter.Inc() // who left before the answer says nothing about the store
		}
	}
}

// Redis registers the metrics of Redis, and returns what counts one command. up tells whether
// it answers; it is asked at each reading of the metrics.
func (m *Metrics) Redis(up func() bool) func(took time.Duration, failed bool) {
	latency := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "nodegate_redis_duration_seconds", Help: "Latency of a command or script in Redis, failed ones too.",
		Buckets: remoteSteps(),
	})
	errs := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "nodegate_redis_errors_total", Help: "Commands that Redis did not answer.",
	})
	m.registry.MustRegister(latency, errs, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "nodegate_redis_up", Help: "1 while Redis answers. Without it each server applies limits on its own.",
	}, number(up)))
	return func(took time.Duration, failed bool) {
		latency.Observe(took.Seconds())
		if failed {
			errs.Inc()
		}
	}
}

// number is a yes as Prometheus has it.
func number(yes func() bool) func() float64 {
	return func() float64 {
		if yes() {
			return 1
		}
		return 0
	}
}

// Backlog shows usage that the store has not taken yet: how many rows, and how old the
// oldest is.
func (m *Metrics) Backlog(backlog func() (rows int, age time.Duration)) {
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "nodegate_usage_backlog_rows", Help: "Rows of usage that wait in memory for the account store.",
		}, func() float64 { rows, _ := backlog(); return float64(rows) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "nodegate_usage_backlog_age_seconds", Help: "How long saving usage to the account store has failed; 0 while it works.",
		}, func() float64 { _, age := backlog(); return age.Seconds() }))
}
