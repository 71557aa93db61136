package native

import (
	"encoding/hex"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/holiman/uint256"
)

// callObject is a call. A plain one has no prices, no lists and no nonce; where there is no
// place for more, anything else is handed over.
type callObject struct {
	from   common.Address
	to     *common.Address
	gas    uint64
	hasGas bool
	value  uint256.Int
	input  []byte
	more   *extras // nil for plain calls
}

// parse reads a canonical call object. False hands the call over.
func (c *callObject) parse(raw []byte) bool {
	if len(raw) < 2 || raw[0] != '{' || raw[len(raw)-1] != '}' {
		return false
	}
	rest := raw[1 : len(raw)-1]
	for len(rest) > 0 {
		end := valueEnd(rest)
		if end <= 0 || end >= len(rest) || rest[end] != ':' {
			return false
		}
		name := rest[:end]
		rest = rest[end+1:]
		if end = valueEnd(rest); end <= 0 {
			return false
		}
		if !c.read(name, rest[:end]) {
			return false
		}
		if rest = rest[end:]; len(rest) > 0 {
			if rest[0] != ',' || len(rest) == 1 {
				return false
			}
			rest = rest[1:]
		}
	}
	return true
}

func (c *callObject) read(name, raw []byte) bool {
	if value, ok := unquote(raw); ok {
		return c.set(name, value)
	}
	return c.more != nil && c.more.setList(name, raw)
}

func (c *callObject) set(name, value []byte) bool {
	switch string(name) {
	case `"from"`:
		return fixedHex(c.from[:], value)
	case `"to"`:
		c.to = new(common.Address)
		return fixedHex(c.to[:], value)
	case `"gas"`:
		var ok bool
		c.gas, ok = quantity(value)
		c.hasGas = ok
		return ok
	case `"value"`:
		return c.value.SetFromHex(string(value)) == nil
	case `"input"`:
		return c.setInput(value)
	}
	return c.more != nil && c.more.set(name, value)
}

func (c *callObject) setInput(value []byte) bool {
	if len(value) < 2 || len(value)%2 != 0 || value[0] != '0' || value[1] != 'x' {
		return false
	}
	c.input = make([]byte, (len(value)-2)/2)
	_, err := hex.Decode(c.input, value[2:])
	return err == nil
}

// message is the call as go-ethereum executes it: from anybody, and free of charge unless it
// names a price.
func (c *callObject) message(gas uint64) *core.Message {
	msg := &core.Message{
		From: c.from, To: c.to, Value: &c.value, GasLimit: gas, Data: c.input,
		GasPrice: new(uint256.Int), GasFeeCap: new(uint256.Int), GasTipCap: new(uint256.Int),
	}
	if c.more != nil {
		c.more.apply(msg)
	}
	return msg.SkipNonceCheck().SkipEOACheck().SkipGasLimitCapCheck()
}
