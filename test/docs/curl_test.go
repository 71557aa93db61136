package docs

import (
	"errors"
	"fmt"
	"github.com/nodegate/nodegate/test/harness"
	"strings"
	"testing"
)

// request is what a curl line sends.
type request struct {
	url     string
	body    string
	headers [][2]string
}

// parseCurl reads one curl command. It knows only the options that the pages use,
// so that a line it does not understand fails instead of being half run.
func parseCurl(text string) (*request, error) {
	text = strings.ReplaceAll(text, "$KEY", harness.KeyA) // as the shell does it
	words, err := shellWords(text)
	if err != nil {
		return nil, err
	}
	r := &request{}
	for i := 1; i < len(words); i++ {
		word := words[i]
		switch word {
		case "-s":
			continue
		case "-H", "-d":
			if i++; i == len(words) {
				return nil, fmt.Errorf("%s has no value", word)
			}
			if word == "-d" {
				r.body = words[i]
				continue
			}
			name, value, ok := strings.Cut(words[i], ": ")
			if !ok {
				return nil, fmt.Errorf("%q is not a header", words[i])
			}
			r.headers = append(r.headers, [2]string{name, value})
		default:
			if r.url != "" || !strings.HasPrefix(word, "http://") {
				return nil, fmt.Errorf("can't read %q: the test knows -s, -H, -d and one address", word)
			}
			r.url = word
		}
	}
	if r.url == "" || r.body == "" {
		return nil, errors.New("no address or no body")
	}
	return r, nil
}

// shellWords splits a command as a shell does: single quotes, and a backslash at
// the end of a line.
func shellWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, quote := false, byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote == '"' && (c == '\\' || c == '$' || c == '`'):
			return nil, fmt.Errorf("%q in double quotes is more shell than the test knows", c)
		case quote != 0 && c != quote:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			inWord = true
			if quote == 0 {
				quote = c
			} else {
				quote = 0
			}
		case c == '\\' && i+1 < len(text) && text[i+1] == '\n':
			i++
		case c == '\\' || c == '$' || c == '|' || c == ';' || c == '&' || c == '#':
			return nil, fmt.Errorf("%q outside of single quotes is more shell than the test knows", c)
		case c == '\n':
			return nil, errors.New("a block with a curl line holds nothing else: continue it with a backslash")
		case c == ' ':
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

func TestParseCurl(t *testing.T) {
	r, err := parseCurl("curl -s -H 'Content-Type: application/json' \\\n  -d '{\"id\": 1}' \\\n  http://localhost:8545/v3/k")
	if err != nil {
		t.Fatal(err)
	}
	if r.url != "http://localhost:8545/v3/k" || r.body != `{"id": 1}` || len(r.headers) != 1 || r.headers[0][1] != "application/json" {
		t.Errorf("%+v", r)
	}
	for _, bad := range []string{
		"curl -s http://localhost/",
		"curl -d '{}'",
		"curl -d '{} http://localhost/",
		"curl -X PUT -d '{}' http://localhost/",
		"curl -d '{}' http://localhost/ | jq",
		"curl -d '{}' http://localhost/ http://localhost/",
		"curl -d '{}' http://localhost/\ncurl -d '{}' http://localhost/",
	} {
		if r, err := parseCurl(bad); err == nil {
			t.Errorf("%q is taken for %+v", bad, r)
		}
	}
}
