package edge

import (
	"math"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/ratelimit"
	"github.com/nodegate/nodegate/internal/accounts/usage"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/ws"
)

// affordable is how many events can be paid at once: a full bucket's worth.
func affordable(g *nodegate.Grant, cost int64) int {
	if cost <= 0 {
		return math.MaxInt
	}
	return int(max(1, min(ratelimit.Largest(g.Policy())/cost, math.MaxInt32)))
}

// payEvents pays for a batch of events before it is sent, and records it. Events that
// can't be paid would be a gap in the stream, so the socket is closed instead, and the
// reason says which limit it was.
func (s *socket) payEvents(b *eventBatch, cost int64) bool {
	credits := int64(b.count) * cost
	event := usage.Event{Network: s.network.Name, Method: method.EthSubscription, Outcome: nodegate.OutcomeOK, Requests: int64(b.count), Credits: credits, BytesOut: int64(b.size)}
	err := s.edge.cfg.Limiter.Admit(s.ctx, s.grant, credits)
	if err != nil {
		code := nodegate.AsError(err).Code
		event.Outcome, event.Credits, event.BytesOut = code.String(), 0, 0
		s.edge.cfg.Metrics.Refused(code)
		s.close(ws.PolicyViolation, nodegate.AsError(err).Msg+saysUnpaid)
	}
	s.edge.cfg.Usage.Record(s.grant, event)
	return err == nil
}
