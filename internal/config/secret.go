package config

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
)

// Secret is a text that must not be shown. Printing or logging it, also as a part
// of something larger, shows a placeholder; string(s) is the secret itself.
type Secret string

// String is the placeholder, or "" for no secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "[redacted]"
}

// GoString is what %#v prints.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// LogValue is what slog prints.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText is what JSON prints.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// fromFiles are the secrets that a file can hold. The setting that names the file
// has the same name with _file behind it.
var fromFiles = []string{"store.postgres", "redis.url", "payment.stripe_key", "mail.smtp", "admin.token", "tracing.authorization", "alerts.webhook", "alerts.webhook_secret"}

// readSecrets fills in the secrets that stand in files of their own.
func (s *settler) readSecrets() {
	for _, name := range fromFiles {
		s.readSecret(name, name+"_file")
	}
	for i := range s.cfg.Storage.Kubo.Endpoints {
		s.readHeaders(&s.cfg.Storage.Kubo.Endpoints[i], endpointPath(i)+"headers_file")
	}
}

func (s *settler) readSecret(name, fileName string) {
	place, _ := settings.field(fileName)
	file := place.at(s.cfg).String()
	if file == "" {
		return
	}
	f, _ := settings.field(name)
	v := f.at(s.cfg)
	if v.String() != "" {
		s.failAt(s.chosen(fileName, name), "%s and %s exclude each other; remove one of them", name, fileName)
		return
	}
	if s.fromFile(fileName, file, v.allowed(), v.set) {
		s.src[name] = s.src[fileName]
	}
}

// fromFile hands a secret of a file to set, or notes why it can't at the setting
// that names the file.
func (s *settler) fromFile(path, file, allowed string, set func(string) error) bool {
	text, err := slurpSecret(file)
	switch {
	case err != nil:
		s.failAt(path, "%q can't be read: %s", file, cause(err))
	case text == "":
		s.failAt(path, "%q is empty; it must hold %s", file, allowed)
	case set(text) != nil:
		s.failAt(path, "%q can't be used; it must hold %s. Its content is secret and not shown", file, allowed)
	default:
		return true
	}
	return false
}

// maxSecret bounds a file that holds a secret.
const maxSecret = 16 << 10

func slurpSecret(name string) (string, error) {
	return slurp(name, maxSecret, errors.New("it is larger than 16 KiB; that is not a secret"))
}

// slurp reads a file without the line break at its end. It looks at what
// the file is first: opening a pipe would wait for its other end.
func slurp(name string, most int, tooLarge error) (string, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if len(text) > most {
		return "", tooLarge
	}
	return strings.TrimSpace(string(text)), err
}
