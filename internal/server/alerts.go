package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"time"

	"github.com/nodegate/nodegate/internal/accounts/mailer"
	"github.com/nodegate/nodegate/internal/operatoralert"
)

// maxAlertPause is the longest pause between two checks for problems.
const maxAlertPause = 15 * time.Second

// startAlerts begins to look for problems, if operators want to know.
func (s *Server) startAlerts() error {
	channels, err := s.alertChannels()
	if err != nil || len(channels) == 0 {
		return err
	}
	host, _ := os.Hostname() // messages without it say less
	found := &problems{server: s, host: host}
	s.alerts = operatoralert.Start(operatoralert.Config{
		Check: found.now, Every: min(maxAlertPause, s.cfg.Alerts.After), After: s.cfg.Alerts.After, Lease: s.accounts.alertLease(), Channels: channels, Server: host, Log: s.log,
	})
	return nil
}

// alertChannels are how operators get alerts.
func (s *Server) alertChannels() (list []operatoralert.Channel, err error) {
	c := s.cfg.Alerts
	if c.Webhook != "" {
		list = append(list, operatoralert.Webhook(string(c.Webhook), string(c.WebhookSecret)))
	}
	if c.Mail == "" {
		return list, nil
	}
	sender, err := mailer.NewSMTP(mailer.Config{URL: string(s.cfg.Mail.SMTP), From: s.cfg.Mail.From})
	if err != nil {
		return nil, err
	}
	return append(list, operatoralert.Channel{Name: "mail", Send: func(ctx context.Context, m operatoralert.Message) error {
		return sender.Send(ctx, alertLetter(c.Mail, m))
	}}), nil
}

// alertLetter is an alert as a mail.
func alertLetter(to string, m operatoralert.Message) mailer.Letter {
	text := m.Summary + "\n\nServer: " + m.Server + "\nSince: " + m.Since.Format(time.RFC3339) + "\n"
	if m.Status == operatoralert.Resolved {
		text = "This problem is over:\n\n" + text + "Until: " + m.At.Format(time.RFC3339) + "\n"
	}
	id := sha256.Sum256([]byte(m.Status + "\n" + m.Kind + "\n" + m.Subject + "\n" + m.Server + "\n" + m.At.String()))
	return mailer.Letter{To: to, Subject: "nodegate: " + m.Text, Text: text, ID: "alert-" + hex.EncodeToString(id[:12])}
}

// alertLease lets one of several servers report a problem. It is nil for a server by itself: only
// servers with Postgres share accounts.
func (a *accounts) alertLease() func(context.Context, string, time.Duration) (bool, error) {
	if a.cfg.Store.Postgres == "" {
		return nil
	}
	holder := rand.Text()
	return func(ctx context.Context, name string, until time.Duration) (bool, error) {
		now := time.Now()
		return a.control.Store.Lease(ctx, name, holder, now, now.Add(until))
	}
}
