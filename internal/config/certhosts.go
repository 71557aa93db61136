package config

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
)

// readCertHosts reads storage.hosts.
func readCertHosts(l *loader, c *Config, path string, n node) {
	c.Storage.Hosts = l.texts(path, n, checkCertHost)
}

var hostName = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// checkCertHost lets names and addresses pass that a certificate can be for. A name
// whose last part is a number is an address with a typing error.
func checkCertHost(s string) error {
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" && !a.IsUnspecified() {
		return nil
	}
	last := s[strings.LastIndexByte(s, '.')+1:]
	if len(s) > 253 || !hostName.MatchString(s) || strings.Trim(last, "0123456789") == "" {
		return fmt.Errorf("%q is not a host name or an address; write it like files.example.com or 192.168.1.5", s)
	}
	return nil
}

// readGatewayHosts reads storage.gateway_hosts.
func readGatewayHosts(l *loader, c *Config, path string, n node) {
	c.Storage.GatewayHosts = l.texts(path, n, checkGatewayHost)
}

// checkGatewayHost lets names pass that other names can be below.
func checkGatewayHost(s string) error {
	if _, err := netip.ParseAddr(s); err == nil {
		return fmt.Errorf("%q is an IP address and can't have subdomains; write a host name like files.example.com", s)
	}
	return checkCertHost(s)
}

// storageHosts writes the lists of hosts behind the other settings of their section.
func (d *dumper) storageHosts(s *Storage) {
	d.line("hosts: %s%s", flow(s.Hosts), d.comment("storage.hosts"))
	d.line("gateway_hosts: %s%s", flow(s.GatewayHosts), d.comment("storage.gateway_hosts"))
}
