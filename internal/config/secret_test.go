package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSecretRules is about the form of secrets. None of the errors may repeat one.
func TestSecretRules(t *testing.T) {
	for _, c := range []struct {
		name  string
		rule  rule
		good  []string
		wrong []string
	}{
		{"pepper", pepper, []string{thirtyTwo, strings.Repeat("x", 1024)}, []string{"", thirtyTwo[1:], strings.Repeat("x", 1025)}},
		{"postgres", postgresURL, []string{
			"", "postgres://h", "postgresql://u:p@h:5432/db?sslmode=require", "postgres://u:p%40ss@h/db", "postgres://u@[::1]:5432/db",
			"postgres://a:1,b:2/db?target_session_attrs=any", "postgres:///db?host=/run/postgresql", "postgres://u:p@/db?host=/run",
		}, []string{
			"h", "host=h user=u", "mysql://h/db", "POSTGRES://h", "postgres:h", "postgres://", "postgres:///db", "postgres://u:p@/db",
			"postgres://u:p#x@h/db", "postgres://u:p/x@h/db", "postgres://u:p%zz@h/db", "postgres://h:port/db", "postgres://h:99999/db",
			"postgres://h /db", "postgres://h/db\n", "postgres://h/db?host=%zz",
		}},
		{"redis", redisURL, []string{
			"", "redis://h", "redis://h:6379", "redis://:p@h:6379/0", "rediss://u:p@h/15", "redis://[::1]:6379", "unix:///run/redis.sock", "unix:///run/r.sock?db=1",
		}, []string{
			"h:6379", "redis:h", "redis://", "redis:///0", "redis://:p@/0", "http://h", "redis://h:x", "redis://h/one", "redis://h/1/2",
			"unix://run/redis.sock", "unix://", "unix:///", "redis://h/0#x", "redis://h/ 0",
		}},
		{"stripe key", stripeKey, []string{"", "sk_test_1234", "rk_live_1234", "sk_live_A_b1"},
			[]string{"pk_test_1234", "sk_", "sk_test 1", "sk_test_\n1234", "SK_test_1234", "xsk_test_1234", "sk_" + strings.Repeat("1", 300)}},
		{"stripe public key", stripePublicKey, []string{"", "pk_test_1234"}, []string{"sk_test_1234", "rk_live_1234", "pk_", "pk_test_1234\n"}},
		{"smtp", smtpURL, []string{
			"", "smtp://h", "smtp://h:25/", "smtps://u:p@h:465", "smtp://u%40example.com:p%2Fw@[::1]:587",
		}, []string{
			"h:25", "http://h", "smtp:h", "smtp://", "smtp://u:p@", "smtp://u@h", "smtp://u:@h", "smtp://:p@h", "smtp://h:x", "smtp://h:99999",
			"smtp://h/path", "smtp://h?x=1", "smtp://h#x", "smtp://h \n", "smtp://u:p%zz@h",
		}},
		{"mail address", mailAddress, []string{"", "a@b.com", "The Gate <a@b.com>"},
			[]string{"a-b-c", "a@b.com, c@d.com", "a@b.com\r\nBcc: c@d.com", "<a@b.com", "Gate <a>"}},
		{"web URL", webURL, []string{"", "http://127.0.0.1:12111", "https://api.example.com/base"},
			[]string{"stripe.test", "ftp://h", "http://", "http://u:p@h", "http://h?x=1", "http://h#x", "http://h:x"}},
	} {
		for _, s := range c.good {
			if err := c.rule.check(s); err != nil {
				t.Errorf("%s %q: %v", c.name, s, err)
			}
		}
		for _, s := range c.wrong {
			err := c.rule.check(s)
			if err == nil {
				t.Errorf("%s %q is accepted", c.name, s)
			} else if len(s) > 3 && strings.Contains(err.Error(), s) {
				t.Errorf("%s: the error repeats %q", c.name, s)
			}
		}
	}
}

// TestSecretIsNotPrinted prints a whole configuration in every way there is.
func TestSecretIsNotPrinted(t *testing.T) {
	c := Default()
	c.Pepper, c.Store.Postgres, c.Redis.URL, c.Payment.StripeKey = "swordfish", "swordfish", "swordfish", "swordfish"
	c.Mail.SMTP = "swordfish"
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "pepper", c.Pepper, "payment", c.Payment)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "pepper", c.Pepper, "config", c)
	body, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var dump bytes.Buffer
	if err := Dump(&dump, c); err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprintf("%v %+v %#v %s %q", *c, *c, *c, c.Pepper, c.Pepper) + log.String() + string(body) + dump.String()
	if strings.Contains(all, "swordfish") {
		t.Errorf("a secret is in\n%s", all)
	}
	if !strings.Contains(all, "[redacted]") {
		t.Error("the placeholder is nowhere: the test prints nothing")
	}
	if string(c.Pepper) != "swordfish" {
		t.Error("the secret itself is lost")
	}
}

// TestSecretFiles reads secrets that stand alone in files, and says what is wrong
// with one without showing it.
func TestSecretFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, bad, empty := file("good", "\n postgres://swordfish@h \n"), file("bad", "swordfish"), file("empty", " \n")
	large := file("large", strings.Repeat("swordfish", 5000))
	const variable = "NODEGATE_STORE_POSTGRES_FILE"
	c := mustLoad(t, Options{Env: []string{variable + "=" + good}})
	if c.Store.Postgres != "postgres://swordfish@h" {
		t.Errorf("got %q", string(c.Store.Postgres))
	}
	if got := c.src["store.postgres"].String(); got != "environment "+variable {
		t.Errorf("the dump says that it comes from %s", got)
	}
	form := "it must hold " + postgresURL.says
	for _, one := range []struct{ env, want string }{
		{bad, fmt.Sprintf("%s: %q can't be used; %s. Its content is secret and not shown", variable, bad, form)},
		{empty, fmt.Sprintf("%s: %q is empty; %s", variable, empty, form)},
		{large, fmt.Sprintf("%s: %q can't be read: it is larger than 16 KiB; that is not a secret", variable, large)},
		{dir, fmt.Sprintf("%s: %q can't be read: it is not a regular file", variable, dir)},
		{dir + "/none", fmt.Sprintf("%s: %q can't be read: no such file or directory", variable, dir+"/none")},
	} {
		if _, err := Load(Options{Env: []string{variable + "=" + one.env}}); err == nil || err.Error() != one.want {
			t.Errorf("got  %v\nwant %s", err, one.want)
		}
	}
	_, err := Load(Options{Env: []string{variable + "=" + good, "NODEGATE_STORE_POSTGRES=postgres://h"}})
	if want := variable + ": store.postgres and store.postgres_file exclude each other; remove one of them"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestSecretsInTheEnvironment has mistakes without a position.
func TestSecretsInTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		env  []string
		want string
	}{
		{[]string{"NODEGATE_PEPPER=swordfish"},
			"NODEGATE_PEPPER: can't be used; it must be 32 to 1024 characters. What was given is secret and not shown"},
		{[]string{"NODEGATE_REDIS_URL=swordfish"},
			"NODEGATE_REDIS_URL: can't be used; it must be " + redisURL.says + ". What was given is secret and not shown"},
		{[]string{"NODEGATE_PAYMENT_PROCESSOR=stripe"},
			"NODEGATE_PAYMENT_PROCESSOR: stripe needs its secret key; set payment.stripe_key_file or NODEGATE_PAYMENT_STRIPE_KEY"},
		{[]string{"NODEGATE_PAYMENT_STRIPE_KEY=sk_test_swordfish"},
			"NODEGATE_PAYMENT_STRIPE_KEY: Stripe has a key and payment.processor is test; set it to stripe, or remove the key"},
		{[]string{"NODEGATE_MAIL_SMTP=smtp://u:swordfish@h"}, "NODEGATE_MAIL_SMTP: mails need a sender; set mail.from too"},
		{[]string{"NODEGATE_MAIL_SMTP=smtp://u:swordfish"},
			"NODEGATE_MAIL_SMTP: can't be used; it must be " + smtpURL.says + ". What was given is secret and not shown"},
		{[]string{"NODEGATE_STRIPE_KEY=sk_test_swordfish"},
			"NODEGATE_STRIPE_KEY: unknown variable; did you mean NODEGATE_STORAGE_KEY?"},
		{[]string{"NODEGATE_DEFAULT_PLAN=fre"}, `NODEGATE_DEFAULT_PLAN: there is no plan "fre"; did you mean free?`},
		{[]string{"NODEGATE_PLANS=x"}, "NODEGATE_PLANS: plans can only be set in the configuration file"},
	} {
		if _, err := Load(Options{Env: c.env}); err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// TestPlansOfTheFile merges what the file says with what is built in.
func TestPlansOfTheFile(t *testing.T) {
	c := mustLoad(t, Options{File: write(t, t.TempDir(), "plans: {free: {storage_reads: 1}, a-1: {}}\ncosts: {eth_call: 7}\n")})
	if got, want := c.Plans["free"], (Plan{StorageReads: 1, Keys: 1000}); got != want {
		t.Errorf("free is %+v, want %+v: it is replaced as a whole", got, want)
	}
	if _, there := c.Plans["a-1"]; !there || len(c.Plans) != 3 || c.Plans["unlimited"] != (Plan{}) {
		t.Errorf("the plans are %+v", c.Plans)
	}
	if c.Costs["eth_call"] != 7 || c.Costs["eth_getLogs"] != 255 {
		t.Errorf("the costs are %v", c.Costs)
	}
	if again := Default(); again.Costs["eth_call"] != 80 || len(again.Plans) != 2 {
		t.Errorf("a load changed the defaults: %+v %v", again.Plans, again.Costs)
	}
}
