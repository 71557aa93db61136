package server

import (
	"errors"
	"net"

	"github.com/nodegate/nodegate/internal/web"
)

// bound are the listeners of a server before anything is served on them.
type bound struct{ public, storage, admin net.Listener }

// bind listens on all addresses. What was bound before an error is returned too, for
// the caller to close.
func (s *Server) bind() (b bound, err error) {
	if b.public, err = s.listenPublic(); err != nil {
		return b, err
	}
	if s.storage.gateway != nil {
		if b.storage, err = s.storage.listen(s.listeners); err != nil {
			return b, err
		}
		s.storage.addr = "https://" + b.storage.Addr().String()
	}
	if b.admin, err = s.listeners.listen(adminName, s.cfg.AdminListen, "--admin-listen", web.FixedSlots(adminConns)); err == nil {
		s.admin.addr = "http://" + b.admin.Addr().String()
	}
	return b, err
}

func (b bound) close() error {
	var errs []error
	for _, ln := range []net.Listener{b.public, b.storage, b.admin} {
		if ln != nil {
			errs = append(errs, ln.Close())
		}
	}
	return errors.Join(errs...)
}
