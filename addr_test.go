package nodegate

import (
	"encoding/binary"
	"net/netip"
	"testing"
)

func TestAddrGroup(t *testing.T) {
	for _, c := range []struct{ addr, group string }{
		{"192.0.2.7", "192.0.2.7"},
		{"::ffff:192.0.2.7", "192.0.2.7"},
		{"2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"},
		{"2001:db8:1:2::", "2001:db8:1:2::"},
		{"2001:db8:1:3::1", "2001:db8:1:3::"},
		{"fe80::1%eth0", "fe80::"},
		{"::1", "::"},
	} {
		if got := AddrGroup(netip.MustParseAddr(c.addr)); got != netip.MustParseAddr(c.group) {
			t.Errorf("%s counts as %v, want %s", c.addr, got, c.group)
		}
	}
	if got := AddrGroup(netip.Addr{}); got.IsValid() {
		t.Errorf("no address counts as %v", got)
	}
}

// TestAddrGroupOfOneCustomer: 5,000 addresses of one /64 are one client, 5,000 IPv4
// addresses are 5,000.
func TestAddrGroupOfOneCustomer(t *testing.T) {
	six, four := map[netip.Addr]bool{}, map[netip.Addr]bool{}
	for i := range uint32(5000) {
		wide := netip.MustParseAddr("2001:db8:1:2::").As16()
		binary.BigEndian.PutUint32(wide[10:], i*0x9e3779b1)
		six[AddrGroup(netip.AddrFrom16(wide))] = true
		var narrow [4]byte
		binary.BigEndian.PutUint32(narrow[:], 0x0a000000+i)
		four[AddrGroup(netip.AddrFrom4(narrow))] = true
	}
	if len(six) != 1 || len(four) != 5000 {
		t.Errorf("%d IPv6 groups and %d IPv4 groups", len(six), len(four))
	}
}
