package eth

// Dialect settles where the specification and the Ethereum standard differ.
type Dialect uint8

// The dialects, from the specification's letter to the standard's.
const (
	Spec     Dialect = iota // the specification, lenient where clients need it
	Strict                  // the specification to the letter
	Standard                // the Ethereum standard (execution-apis)
)

// ParseDialect reads a dialect's name.
func ParseDialect(name string) (Dialect, bool) {
	switch name {
	case "spec", "":
		return Spec, true
	case "strict":
		return Strict, true
	case "standard":
		return Standard, true
	}
	return Spec, false
}

// blockRequired: without a block parameter the others read `latest`.
func (d Dialect) blockRequired() bool { return d == Strict }

// fromRequired: eth_call names its sender.
func (d Dialect) fromRequired() bool { return d == Strict }

// toRequired: eth_estimateGas names its recipient.
func (d Dialect) toRequired() bool { return d == Strict }

// safeRefused: estimates take `finalized` instead of `safe`.
func (d Dialect) safeRefused() bool { return d != Standard }

// gasCapEnforced: gas above the cap is an error, not cut silently.
func (d Dialect) gasCapEnforced() bool { return d != Standard }

// inputMustMatch: `input` and `data` may not contradict each other.
func (d Dialect) inputMustMatch() bool { return d != Standard }
