package config

import "testing"

func TestCertHosts(t *testing.T) {
	for text, ok := range map[string]bool{
		"files.example.com": true, "nas": true, "192.168.1.5": true, "2001:db8::5": true, "a-b.example": true,
		"": false, "Files.example.com": false, "*.example.com": false, "https://x": false, "x:5001": false, "0.0.0.0": false, "::": false,
		"192.168.1": false, "192.168.1.500": false, "fe80::1%eth0": false, "a b": false, "-a.example": false, "a..b": false,
	} {
		if err := checkCertHost(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestGatewayHosts(t *testing.T) {
	for text, ok := range map[string]bool{
		"localhost": true, "sites.example.com": true, "nas": true,
		"": false, "Localhost": false, "*.example.com": false, "127.0.0.1": false, "::1": false, "localhost:5001": false, "http://localhost": false, "127.0.0": false,
	} {
		if err := checkGatewayHost(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}
