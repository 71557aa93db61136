package config

import (
	"net"
	"os"
	"slices"
	"strings"

	"github.com/nodegate/nodegate/internal/method"
)

// check makes the checks that compare settings with each other or with the disk.
func (c *checker) check() {
	c.checkData()
	c.checkListeners()
	c.checkTLS()
	c.checkPayment()
	c.checkMail()
	c.checkKubo()
	c.checkPlans()
	c.checkNetworkNames()
	c.checkDefaultNetwork()
	for i := range c.cfg.Networks {
		c.checkNetwork(i)
	}
}

// checkData refuses a file in the place of the data folder, without making the folder.
func (c *checker) checkData() {
	if info, err := os.Stat(c.cfg.Data); err == nil && !info.IsDir() {
		c.failAt("data", "%q is a file; name a folder", c.cfg.Data)
	}
}

// checkListeners refuses one address for two listeners. Port 0 is a different
// port each time. Different spellings of one address are left to the kernel.
func (c *checker) checkListeners() {
	taken := map[string]string{}
	for _, one := range []struct{ name, addr string }{
		{"listen", c.cfg.Listen}, {"storage_listen", c.cfg.StorageListen}, {"admin_listen", c.cfg.AdminListen},
	} {
		_, port, _ := net.SplitHostPort(one.addr)
		other, twice := taken[one.addr]
		if twice && strings.Trim(port, "0") != "" {
			c.failAt(c.chosen(one.name, other), "%s and %s are both %s; give each its own port", other, one.name, one.addr)
		}
		taken[one.addr] = one.name
	}
}

// chosen returns the setting that somebody set rather than the one that is a default.
func (d *draft) chosen(a, b string) string {
	if d.src[a].origin == fromDefault {
		return b
	}
	return a
}

func (c *checker) checkTLS() {
	c.checkPair("tls.cert", "tls.key", c.cfg.TLS)
	c.checkPair("storage.cert", "storage.key", c.cfg.Storage.TLS)
}

// checkPair wants both files of a certificate or none.
func (c *checker) checkPair(certName, keyName string, t TLS) {
	switch {
	case t.Cert == "" && t.Key == "":
		return
	case t.Key == "":
		c.failAt(certName, "a certificate needs its private key; set %s too", keyName)
	case t.Cert == "":
		c.failAt(keyName, "a private key needs its certificate; set %s too", certName)
	}
	c.checkFile(certName, t.Cert)
	c.checkFile(keyName, t.Key)
}

// checkPayment refuses half a set-up of Stripe: customers would find out.
func (c *checker) checkPayment() {
	p := c.cfg.Payment
	switch {
	case p.Processor == "test" && p.StripeKey != "":
		c.failAt("payment.stripe_key", "Stripe has a key and payment.processor is test; set it to stripe, or remove the key")
	case p.Processor == "test":
	case p.StripeKey == "":
		c.failAt("payment.processor", "stripe needs its secret key; set payment.stripe_key_file or NODEGATE_PAYMENT_STRIPE_KEY")
	case p.StripePublicKey == "":
		c.failAt("payment.processor", "stripe needs its public key for the form in the browser; set payment.stripe_public_key")
	case liveKey(string(p.StripeKey)) != liveKey(p.StripePublicKey):
		c.failAt("payment.stripe_public_key", "one of Stripe's keys is for tests and the other is live; use a pair")
	}
}

// checkMail wants a sender beside the server.
func (c *checker) checkMail() {
	if c.cfg.Mail.SMTP != "" && c.cfg.Mail.From == "" {
		c.failAt("mail.smtp", "mails need a sender; set mail.from too")
	}
	if c.cfg.Alerts.Mail != "" && c.cfg.Mail.SMTP == "" {
		c.failAt("alerts.mail", "alerts by mail need a mail server; set mail.smtp too")
	}
	if c.cfg.Alerts.WebhookSecret != "" && c.cfg.Alerts.Webhook == "" {
		c.failAt("alerts.webhook_secret", "there is no webhook to sign for; set alerts.webhook too")
	}
}

// liveKey tells whether a key of Stripe moves money.
func liveKey(key string) bool { return strings.Contains(key, "_live_") }

func (c *checker) checkNetworkNames() {
	first := map[string]int{}
	for i, n := range c.cfg.Networks {
		if n.Name == "" {
			c.failAt(networkPath(i), "has no name; add name: to it")
			continue
		}
		if line, twice := first[n.Name]; twice {
			c.failAt(networkPath(i)+"name", "%q is the name of the network on line %d already; choose another", n.Name, line)
			continue
		}
		first[n.Name] = c.src[networkPath(i)+"name"].line
	}
}

func (c *checker) checkDefaultNetwork() {
	var names []string
	for _, n := range c.cfg.Networks {
		if n.Name == c.cfg.DefaultNetwork {
			return
		}
		names = append(names, n.Name)
	}
	if c.cfg.DefaultNetwork != "" {
		c.failAt("default_network", "there is no network %q%s", c.cfg.DefaultNetwork, suggest(c.cfg.DefaultNetwork, names))
	}
}

func (c *checker) checkNetwork(i int) {
	n, at := c.cfg.Networks[i], networkPath(i)
	_, listed := c.src[at+"nodes"]
	switch {
	case n.Embedded != nil && listed:
		c.failAt(at+"nodes", "a network has an embedded chain or nodes, not both; remove one of them, or make two networks")
		return
	case listed:
		c.checkRemote(i)
		return
	case n.Embedded == nil:
		c.failAt(at, "has neither nodes nor an embedded chain; list its nodes:, or add embedded: {}")
		return
	}
	c.checkEmbedded(n, at)
}

// checkEmbedded refuses what only remote nodes have.
func (c *checker) checkEmbedded(n Network, at string) {
	for _, f := range networkSettings.fields {
		if f.remote && c.src[at+f.name].origin != fromDefault {
			c.failAt(at+f.name, "is for networks of nodes, and this one has an embedded chain; remove it")
		}
	}
	if n.Cache > 0 && slices.Contains(n.Namespaces, method.SpaceEVM) {
		c.failAt(at+"cache", "a cache and the namespace evm exclude each other: "+method.EVMRevert+" takes blocks back; remove one of them")
	}
	if n.Embedded.Chain != "" && n.Embedded.Genesis == "" {
		c.failAt(at+"embedded.chain", "a chain file needs the genesis that it starts from; set embedded.genesis too")
	}
	c.checkFile(at+"embedded.genesis", n.Embedded.Genesis)
	c.checkFile(at+"embedded.chain", n.Embedded.Chain)
	if n.Layer2 != nil {
		c.checkFile(at+"layer2.dictionary", n.Layer2.Dictionary)
		if n.Layer2.Stack != "linea" {
			c.failAt(at+"layer2.stack", "an embedded chain has the fee model linea only; %s needs nodes", n.Layer2.Stack)
		}
	}
}

// checkFile opens a file, which finds missing permissions too. It looks at what
// the file is first: opening a pipe would wait for its other end.
func (c *checker) checkFile(path, name string) {
	if name == "" {
		return
	}
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		c.failAt(path, "%q is not a file; name a regular file", name)
		return
	}
	f, err := os.Open(name)
	if err != nil {
		c.failAt(path, "%q can't be read: %s", name, cause(err))
		return
	}
	f.Close()
}
