package eth

import (
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// args are the positional parameters of one call. A trailing null is an absent
// parameter, as it is for Geth.
type args struct {
	list  [][]byte
	store [4][]byte
}

// split cuts a parameter array into at most `most` parameters.
func (a *args) split(params []byte, most int) error {
	list, over, ok := jsonrpc.FirstElements(a.store[:0], params, most)
	switch {
	case !ok:
		return invalid("non-array args")
	case over:
		return tooMany(most)
	}
	a.list = list
	return nil
}

// at returns parameter i, nil when it is absent or null.
func (a *args) at(i int) []byte {
	if i >= len(a.list) || string(a.list[i]) == "null" {
		return nil
	}
	return a.list[i]
}

// canonical builds the parameter array for the node below.
type canonical struct{ buf []byte }

func newCanonical(size int) canonical {
	return canonical{buf: append(make([]byte, 0, size), '[')}
}

func (c *canonical) sep() {
	if len(c.buf) > 1 {
		c.buf = append(c.buf, ',')
	}
}

// raw appends a parameter that is canonical JSON already.
func (c *canonical) raw(b []byte) {
	c.sep()
	c.buf = append(c.buf, b...)
}

// str appends a string parameter that needs no escaping.
func (c *canonical) str(s string) {
	c.sep()
	c.buf = append(append(append(c.buf, '"'), s...), '"')
}

func (c *canonical) bytes() []byte { return append(c.buf, ']') }
