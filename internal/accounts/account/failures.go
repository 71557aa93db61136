package account

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
)

// failures counts failed sign-ins within an hour, by account and place. The log and the
// audit log get the first, the tenth, the hundredth and so on of each: everything that
// happens is there, and nobody can fill either with tries.
type failures struct {
	mu       sync.Mutex
	begin    time.Time
	accounts map[string]map[string]int
	writing  sync.WaitGroup
}

const (
	failedAccounts = 10_000 // that are told apart; more count as one that is not known
	failedPlaces   = 20     // that are told apart for an account; more count as one
	otherPlaces    = "other addresses"
	auditTime      = 10 * time.Second
)

// add counts a failure, and returns under which place and the how many-th it is.
func (f *failures) add(accountID, place string) (counted string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.accounts == nil || time.Since(f.begin) >= time.Hour {
		f.begin, f.accounts = time.Now(), map[string]map[string]int{}
	}
	places := f.accounts[accountID]
	if places == nil {
		if len(f.accounts) >= failedAccounts {
			accountID = ""
			places = f.accounts[accountID]
		}
		if places == nil {
			places = map[string]int{}
			f.accounts[accountID] = places
		}
	}
	if _, told := places[place]; !told && len(places) >= failedPlaces {
		place = otherPlaces
	}
	places[place]++
	return place, places[place]
}

// powerOfTen tells whether n is one.
func powerOfTen(n int) bool {
	for n >= 10 && n%10 == 0 {
		n /= 10
	}
	return n == 1
}

// failed records a wrong password. accountID is "" where nobody has the e-mail address,
// which is not recorded: people type passwords there by mistake.
func (s *signIns) failed(accountID, place string) {
	place, n := s.failures.add(accountID, place)
	if !powerOfTen(n) {
		return
	}
	s.log.Warn("sign-in failed", "account", accountID, "from", place, "last_hour", n)
	e := nodegate.AuditEntry{
		Actor: "stranger", From: place, At: now(), Action: "signin.failed", AccountID: accountID, Subject: accountID,
		Detail: fmt.Sprintf("%d within the hour", n),
	}
	// Whoever waits for the answer must not see by its time whether this was written.
	s.failures.writing.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), auditTime)
		defer cancel()
		if err := s.store.Save(ctx, &nodegate.Change{Audit: e}); err != nil {
			s.log.Error("can't record a failed sign-in in the audit log", "account", accountID, "err", err)
		}
	})
}
