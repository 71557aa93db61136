package mailer

import (
	"bytes"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"time"
	"unicode"
)

// Letter is one mail to one reader.
type Letter struct {
	To      string // a bare address
	Subject string
	Text    string // lines end in \n
	ID      string // the same for a letter that is sent again; letters, digits, dots and dashes
}

// maxAddress is what SMTP allows.
const maxAddress = 254

// goodAddress refuses what could end a line or a header, or begin another address.
func goodAddress(s string) bool {
	at := strings.LastIndexByte(s, '@')
	return at > 0 && at < len(s)-1 && len(s) <= maxAddress && !strings.ContainsFunc(s, func(c rune) bool {
		return strings.ContainsRune(` <>",;:\()[]`, c) || c == unicode.ReplacementChar || !unicode.IsPrint(c)
	})
}

// message is the letter as it goes over the wire. Its text is quoted-printable: no
// line is long, and no server needs to know about more than ASCII.
func (l *Letter) message(from *mail.Address, now time.Time) ([]byte, error) {
	var b bytes.Buffer
	_, domain, _ := strings.Cut(from.Address, "@")
	for _, h := range [][2]string{
		{"From", from.String()},
		{"To", "<" + l.To + ">"},
		{"Subject", mime.QEncoding.Encode("utf-8", l.Subject)},
		{"Date", now.UTC().Format(time.RFC1123Z)},
		{"Message-ID", "<" + l.ID + "@" + domain + ">"},
		{"Auto-Submitted", "auto-generated"}, // no reply of a machine, please
		{"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
	} {
		b.WriteString(h[0] + ": " + h[1] + "\r\n")
	}
	b.WriteString("\r\n")
	w := quotedprintable.NewWriter(&b)
	if _, err := w.Write([]byte(strings.ReplaceAll(l.Text, "\n", "\r\n"))); err != nil {
		return nil, err
	}
	return b.Bytes(), w.Close()
}
