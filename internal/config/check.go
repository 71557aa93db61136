package config

import (
	"net"
	"os"
	"slices"
	"strings"

	"github.com/nodegate/nodegate/internal/method"
)

// check makes the checks that compare settings with each other or with the disk.
func (l *loader) check() {
	l.checkData()
	l.checkListeners()
	l.checkTLS()
	l.checkPayment()
	l.checkMail()
	l.checkKubo()
	l.checkPlans()
	l.checkNetworkNames()
	l.checkDefaultNetwork()
	for i := range l.cfg.Networks {
		l.checkNetwork(i)
	}
}

// checkData refuses a file in the place of the data folder, without making the folder.
func (l *loader) checkData() {
	if info, err := os.Stat(l.cfg.Data); err == nil && !info.IsDir() {
		l.failAt("data", "%q is a file; name a folder", l.cfg.Data)
	}
}

// checkListeners refuses one address for two listeners. Port 0 is a different
// port each time. Different spellings of one address are left to the kernel.
func (l *loader) checkListeners() {
	taken := map[string]string{}
	for _, one := range []struct{ name, addr string }{
		{"listen", l.cfg.Listen}, {"storage_listen", l.cfg.StorageListen}, {"admin_listen", l.cfg.AdminListen},
	} {
		_, port, _ := net.SplitHostPort(one.addr)
		other, twice := taken[one.addr]
		if twice && strings.Trim(port, "0") != "" {
			l.failAt(l.chosen(one.name, other), "%s and %s are both %s; give each its own port", other, one.name, one.addr)
		}
		taken[one.addr] = one.name
	}
}

// chosen returns the setting that somebody set rather than the one that is a default.
func (l *loader) chosen(a, b string) string {
	if l.src[a].origin == fromDefault {
		return b
	}
	return a
}

func (l *loader) checkTLS() {
	l.checkPair("tls.cert", "tls.key", l.cfg.TLS)
	l.checkPair("storage.cert", "storage.key", l.cfg.Storage.TLS)
}

// checkPair wants both files of a certificate or none.
func (l *loader) checkPair(certName, keyName string, t TLS) {
	switch {
	case t.Cert == "" && t.Key == "":
		return
	case t.Key == "":
		l.failAt(certName, "a certificate needs its private key; set %s too", keyName)
	case t.Cert == "":
		l.failAt(keyName, "a private key needs its certificate; set %s too", certName)
	}
	l.checkFile(certName, t.Cert)
	l.checkFile(keyName, t.Key)
}

// checkPayment refuses half a set-up of Stripe: customers would find out.
func (l *loader) checkPayment() {
	p := l.cfg.Payment
	switch {
	case p.Processor == "test" && p.StripeKey != "":
		l.failAt("payment.stripe_key", "Stripe has a key and payment.processor is test; set it to stripe, or remove the key")
	case p.Processor == "test":
	case p.StripeKey == "":
		l.failAt("payment.processor", "stripe needs its secret key; set payment.stripe_key_file or NODEGATE_PAYMENT_STRIPE_KEY")
	case p.StripePublicKey == "":
		l.failAt("payment.processor", "stripe needs its public key for the form in the browser; set payment.stripe_public_key")
	case liveKey(string(p.StripeKey)) != liveKey(p.StripePublicKey):
		l.failAt("payment.stripe_public_key", "one of Stripe's keys is for tests and the other is live; use a pair")
	}
}

// checkMail wants a sender beside the server.
func (l *loader) checkMail() {
	if l.cfg.Mail.SMTP != "" && l.cfg.Mail.From == "" {
		l.failAt("mail.smtp", "mails need a sender; set mail.from too")
	}
}

// liveKey tells whether a key of Stripe moves money.
func liveKey(key string) bool { return strings.Contains(key, "_live_") }

func (l *loader) checkNetworkNames() {
	first := map[string]int{}
	for i, n := range l.cfg.Networks {
		if n.Name == "" {
			l.failAt(networkPath(i), "has no name; add name: to it")
			continue
		}
		if line, twice := first[n.Name]; twice {
			l.failAt(networkPath(i)+"name", "%q is the name of the network on line %d already; choose another", n.Name, line)
			continue
		}
		first[n.Name] = l.src[networkPath(i)+"name"].line
	}
}

func (l *loader) checkDefaultNetwork() {
	var names []string
	for _, n := range l.cfg.Networks {
		if n.Name == l.cfg.DefaultNetwork {
			return
		}
		names = append(names, n.Name)
	}
	if l.cfg.DefaultNetwork != "" {
		l.failAt("default_network", "there is no network %q%s", l.cfg.DefaultNetwork, suggest(l.cfg.DefaultNetwork, names))
	}
}

func (l *loader) checkNetwork(i int) {
	n, at := l.cfg.Networks[i], networkPath(i)
	_, listed := l.src[at+"nodes"]
	switch {
	case n.Embedded != nil && listed:
		l.failAt(at+"nodes", "a network has an embedded chain or nodes, not both; remove one of them, or make two networks")
		return
	case listed:
		l.checkRemote(i)
		return
	case n.Embedded == nil:
		l.failAt(at, "has neither nodes nor an embedded chain; list its nodes:, or add embedded: {}")
		return
	}
	l.checkEmbedded(n, at)
}

// checkEmbedded refuses what only remote nodes have.
func (l *loader) checkEmbedded(n Network, at string) {
	for _, name := range []string{"chain_id", "max_lag"} {
		if l.src[at+name].origin != fromDefault {
			l.failAt(at+name, "is for networks of nodes, and this one has an embedded chain; remove it")
		}
	}
	if n.Cache > 0 && slices.Contains(n.Namespaces, method.SpaceEVM) {
		l.failAt(at+"cache", "a cache and the namespace evm exclude each other: "+method.EVMRevert+" takes blocks back; remove one of them")
	}
	if n.Embedded.Chain != "" && n.Embedded.Genesis == "" {
		l.failAt(at+"embedded.chain", "a chain file needs the genesis that it starts from; set embedded.genesis too")
	}
	l.checkFile(at+"embedded.genesis", n.Embedded.Genesis)
	l.checkFile(at+"embedded.chain", n.Embedded.Chain)
	if n.Layer2 != nil {
		l.checkFile(at+"layer2.dictionary", n.Layer2.Dictionary)
		if n.Layer2.Stack != "linea" {
			l.failAt(at+"layer2.stack", "an embedded chain has the fee model linea only; %s needs nodes", n.Layer2.Stack)
		}
	}
}

// checkFile opens a file, which finds missing permissions too. It looks at what
// the file is first: opening a pipe would wait for its other end.
func (l *loader) checkFile(path, name string) {
	if name == "" {
		return
	}
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		l.failAt(path, "%q is not a file; name a regular file", name)
		return
	}
	f, err := os.Open(name)
	if err != nil {
		l.failAt(path, "%q can't be read: %s", name, cause(err))
		return
	}
	f.Close()
}
