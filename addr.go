package nodegate

import "net/netip"

// ipv6Group is how many bits of an IPv6 address name a customer: providers hand out
// whole /64 networks, so the other half is the customer's to choose.
const ipv6Group = 64

// AddrGroup is what per-address limits count: an IPv4 address by itself, also in its
// IPv6-mapped form, and all addresses of an IPv6 /64 as one. Zones are dropped. The
// zero Addr stays the zero Addr.
func AddrGroup(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if !a.Is6() {
		return a
	}
	return netip.PrefixFrom(a, ipv6Group).Masked().Addr()
}
