package obs

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/nodegate/nodegate"
)

func newSignIns() *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "nodegate_signins_total", Help: "Sign-in attempts on the dashboard: ok, sign-in failed for a wrong e-mail address or password, rate limited for too many.",
	}, []string{"outcome"})
	for _, outcome := range []string{"ok", nodegate.SignInFailed.String()} {
		v.WithLabelValues(outcome) // an alert needs the zero before the first
	}
	return v
}

// SignIn counts a try to sign in: ok, or the code of its error.
func (m *Metrics) SignIn(err error) {
	outcome := "ok"
	if err != nil {
		outcome = nodegate.AsError(err).Code.String()
	}
	m.signIns.WithLabelValues(outcome).Inc()
}
