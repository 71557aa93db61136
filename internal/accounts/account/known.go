package account

import (
	"context"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"github.com/nodegate/nodegate"
)

// visitor is somebody who wants a password hashed: for which account, and from where.
type visitor struct {
	known bool   // they have been signed in to the account before
	who   string // the account's id where they are known, the e-mail address where not
	place string // group of addresses, or "device"
}

// keptPlaces is how many places an account is remembered to have signed in from.
const keptPlaces = 16

// placeOf is what tries from an address are counted by.
func placeOf(from string) string {
	if addr, err := netip.ParseAddr(from); err == nil {
		return nodegate.AddrGroup(addr).String()
	}
	return from
}

// recognize finds out whether a try comes from where the account has been signed in to
// before: from the same browser, or the same address. What strangers do must not keep
// such a try from being looked at. a is nil for an address that nobody has.
func (s *signIns) recognize(ctx context.Context, a *nodegate.Account, t Attempt) (visitor, error) {
	v, id, password := visitor{who: t.Email, place: placeOf(t.From)}, "", ""
	if a != nil {
		id, password = a.ID, a.Password
	}
	places, err := s.places(ctx, id) // read for an unknown one too: the time must not tell
	if err != nil || a == nil {
		return v, err
	}
	switch {
	case subtle.ConstantTimeCompare([]byte(t.Device), []byte(s.deviceToken(id, password))) == 1:
		return visitor{known: true, who: id, place: "device"}, nil
	case slices.Contains(places, s.placeDigest(id, v.place)):
		return visitor{known: true, who: id, place: v.place}, nil
	}
	return v, nil
}

// Device is a token for the browser of somebody who has just signed in. It lets nobody
// in: with it, later tries are counted apart from those of strangers. It ends with the
// password.
func (s *signIns) Device(a *nodegate.Account) string { return s.deviceToken(a.ID, a.Password) }

func (s *signIns) deviceToken(accountID, passwordHash string) string {
	d := s.vault.TokenDigest("device\x00" + accountID + "\x00" + passwordHash)
	return hex.EncodeToString(d[:])
}

// placeDigest is a place as it is remembered: addresses of people are not kept in clear.
func (s *signIns) placeDigest(accountID, place string) string {
	d := s.vault.TokenDigest("place\x00" + accountID + "\x00" + place)
	return hex.EncodeToString(d[:8])
}

func placesName(accountID string) string { return "signin/" + accountID }

// places are those that an account was signed in to from, the latest first.
func (s *signIns) places(ctx context.Context, accountID string) ([]string, error) {
	text, err := s.store.Meta(ctx, placesName(accountID))
	if errors.Is(err, nodegate.NotFound) {
		return nil, nil
	}
	return strings.Fields(text), err
}

// remember notes a place that an account was signed in to from. Only whoever knows the
// password gets here, so strangers can't push a place out.
func (s *signIns) remember(ctx context.Context, a *nodegate.Account, from string) error {
	places, err := s.places(ctx, a.ID)
	digest := s.placeDigest(a.ID, placeOf(from))
	if err != nil || slices.Contains(places, digest) {
		return err
	}
	places = append([]string{digest}, places...)
	return s.store.ReplaceMeta(ctx, placesName(a.ID), strings.Join(places[:min(len(places), keptPlaces)], " "))
}
