package eth

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMessage is how much of a node's words a client is told.
const maxMessage = 512

const masked = "[...]"

var (
	// address matches what could lead to the node: URLs, host names, IP addresses,
	// mail addresses.
	nodeAddress = regexp.MustCompile(`(?i)[a-z][a-z0-9+.-]*://\S+|\S+@\S+|\b(?:[a-z0-9-]+\.)+(?:com|io|org|net|xyz|dev|app|network|tech|cloud|finance|local|internal)\b\S*|\b\d{1,3}(?:\.\d{1,3}){3}\b\S*|\blocalhost\S*`)
	// credential matches a value that is named as one.
	credential = regexp.MustCompile(`(?i)\b((?:project|app|account|api|user|access)[ _-]?(?:id|key|token|secret)|key|token|secret)(\s*[:=#]\s*|\s+['"])\S+`)
	// word matches what is long enough to be a key.
	word = regexp.MustCompile(`[A-Za-z0-9_-]{20,}`)
	// constant matches a name as clients have them for limits: BLS_MAP_FP_TO_G1_CALLS.
	constant = regexp.MustCompile(`^[A-Z]{1,12}[0-9]{0,2}(_[A-Z]{1,12}[0-9]{0,2})+$`)
)

// clean makes a node's words fit to be shown: short, on one line, and without
// anything that could be the address or the key of the node.
func clean(msg string) string { return tidy(msg, looksLikeKey) }

// cleanHashes also lets hashes without 0x stand.
func cleanHashes(msg string) string {
	return tidy(msg, func(s string) bool { return looksLikeKey(s) && (len(s) != hashDigits || !allHex([]byte(s))) })
}

func tidy(msg string, secret func(string) bool) string {
	// What is looked at is bounded first, with room for what masking takes out.
	msg = strings.ToValidUTF8(cut(msg, 4*maxMessage), "")
	msg = strings.Map(func(c rune) rune {
		if c == '\n' || c == '\t' {
			return ' '
		}
		if unicode.IsControl(c) || unicode.Is(unicode.Cf, c) {
			return -1
		}
		return c
	}, msg)
	msg = nodeAddress.ReplaceAllString(msg, masked)
	msg = credential.ReplaceAllString(msg, "$1 "+masked)
	msg = word.ReplaceAllStringFunc(msg, func(s string) string {
		if secret(s) {
			return masked
		}
		return s
	})
	return cut(msg, maxMessage)
}

// looksLikeKey tells a random word from a name, a number, a hash or an address: it
// mixes letters and digits, doesn't begin with 0x and is no constant.
func looksLikeKey(s string) bool {
	return !strings.HasPrefix(s, "0x") && !constant.MatchString(s) && strings.ContainsFunc(s, unicode.IsLetter) && strings.ContainsFunc(s, unicode.IsDigit)
}

// cut shortens a text without breaking a character.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}
