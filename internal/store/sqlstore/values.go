package sqlstore

import (
	"database/sql/driver"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nodegate/nodegate"
)

// stamp is a time as it is stored: microseconds since 1970, null for the zero time.
type stamp struct{ time.Time }

// Value makes it a parameter of a query.
func (s stamp) Value() (driver.Value, error) {
	if s.IsZero() {
		return nil, nil
	}
	return s.UnixMicro(), nil
}

// Scan reads it from a column.
func (s *stamp) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		s.Time = time.Time{}
	case int64:
		s.Time = time.UnixMicro(v).UTC()
	default:
		return fmt.Errorf("a time is stored as %T", v)
	}
	return nil
}

// digest reads a digest from a column.
type digest struct{ into *nodegate.Digest }

// Scan refuses what is not as long as a digest.
func (d digest) Scan(v any) error {
	b, ok := v.([]byte)
	if !ok || len(b) != len(d.into) {
		return fmt.Errorf("a digest is stored as %d bytes in a %T", len(b), v)
	}
	copy(d.into[:], b)
	return nil
}

// storable tells whether every database can hold a text: Postgres refuses zero
// bytes and what is not UTF-8. What can't be stored can't be found either.
func storable(texts ...string) bool {
	for _, s := range texts {
		if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
			return false
		}
	}
	return true
}

// cleaned makes a text storable.
func cleaned(s string) string {
	if storable(s) {
		return s
	}
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
}
