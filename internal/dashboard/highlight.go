package dashboard

import (
	"html/template"
	"strings"
)

// maxHighlighted bounds what is colored: each token has markup around it.
const maxHighlighted = 48 << 10

// highlight colors JSON: names, strings, and numbers with true, false and null. Text that is
// too long, and what is no JSON, is shown as it is.
func highlight(text string) template.HTML {
	if len(text) > maxHighlighted {
		return template.HTML(template.HTMLEscapeString(text)) //nolint:gosec // escaped
	}
	var b strings.Builder
	for len(text) > 0 {
		token, class := nextToken(text)
		if class != "" {
			b.WriteString(`<span class="` + class + `">`)
		}
		template.HTMLEscape(&b, []byte(token))
		if class != "" {
			b.WriteString("</span>")
		}
		text = text[len(token):]
	}
	return template.HTML(b.String()) //nolint:gosec // each token is escaped
}

// nextToken is the beginning of a text that has one color; never "".
func nextToken(text string) (token, class string) {
	switch {
	case text[0] == '"':
		token = text[:stringEnd(text)]
		if rest := strings.TrimLeft(text[len(token):], " "); strings.HasPrefix(rest, ":") {
			return token, "j-name"
		}
		return token, "j-text"
	case strings.IndexByte(plainStart, text[0]) >= 0:
		end := strings.IndexAny(text, " \n,]}")
		if end < 0 {
			end = len(text)
		}
		return text[:max(end, 1)], "j-value"
	}
	end := strings.IndexAny(text[1:], `"`+plainStart)
	if end < 0 {
		return text, ""
	}
	return text[:end+1], ""
}

// plainStart begins numbers, true, false and null.
const plainStart = "-0123456789tfn"

// stringEnd is where a string with quotes ends, or the text.
func stringEnd(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}
