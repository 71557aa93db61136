package localca

import (
	"crypto/x509"
	"net"
	"slices"
	"strings"
)

// permitted are the addresses that every authority may sign for: loopback and private
// ones, which a machine may get another of at any time.
var permitted = []string{
	"127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10", "fc00::/7", "fe80::/10",
}

// constrain has a new authority sign for these hosts and this machine only.
func constrain(template *x509.Certificate, hosts []string) {
	template.PermittedDNSDomainsCritical = true
	template.PermittedDNSDomains = []string{"localhost"}
	for _, text := range permitted {
		_, block, _ := net.ParseCIDR(text) // they are well-formed
		template.PermittedIPRanges = append(template.PermittedIPRanges, block)
	}
	for _, host := range hosts {
		switch ip := net.ParseIP(host); {
		case ip == nil && !permitsName(template, host):
			template.PermittedDNSDomains = append(template.PermittedDNSDomains, host)
		case ip != nil && !permitsIP(template, ip):
			template.PermittedIPRanges = append(template.PermittedIPRanges, single(ip))
		}
	}
}

// single is the range of one address.
func single(ip net.IP) *net.IPNet {
	if v4 := ip.To4(); v4 != nil {
		ip = v4
	}
	return &net.IPNet{IP: ip, Mask: net.CIDRMask(8*len(ip), 8*len(ip))}
}

// forbidden is the first host that an authority may not sign for, or "". One from
// before there were constraints may sign for all.
func forbidden(ca *x509.Certificate, hosts []string) string {
	for _, host := range hosts {
		ip := net.ParseIP(host)
		if ip == nil && len(ca.PermittedDNSDomains) > 0 && !permitsName(ca, host) || ip != nil && len(ca.PermittedIPRanges) > 0 && !permitsIP(ca, ip) {
			return host
		}
	}
	return ""
}

// permitsName follows RFC 5280: a name is within a domain, or is it.
func permitsName(ca *x509.Certificate, name string) bool {
	return slices.ContainsFunc(ca.PermittedDNSDomains, func(domain string) bool {
		return strings.EqualFold(name, domain) || strings.HasSuffix(strings.ToLower(name), "."+strings.ToLower(domain))
	})
}

func permitsIP(ca *x509.Certificate, ip net.IP) bool {
	return slices.ContainsFunc(ca.PermittedIPRanges, func(block *net.IPNet) bool { return block.Contains(ip) })
}
