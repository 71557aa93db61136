package method

import (
	"slices"
	"strings"
)

// Namespaces are the prefixes of methods.
const (
	spaceEth    = "eth"
	spaceNet    = "net"
	spaceWeb3   = "web3"
	spaceLayer2 = "layer2"
	spaceRPC    = "rpc"

	SpaceDebug  = "debug"
	SpaceTrace  = "trace"
	SpaceTxpool = "txpool"
	SpaceEVM    = "evm"
	spaceOts    = "ots"
	spaceErigon = "erigon"

	SpaceHardhat = "hardhat"
	SpaceAnvil   = "anvil"
)

// AlwaysOn are the namespaces that every network serves.
func AlwaysOn() []string { return []string{spaceEth, spaceNet, spaceWeb3} }

// Optional are the namespaces that a network may turn on.
func Optional() []string {
	return []string{SpaceDebug, SpaceTrace, SpaceTxpool, spaceOts, spaceErigon, SpaceEVM}
}

// Forbidden are the namespaces that would hand the node itself to its callers.
func Forbidden() []string { return []string{"admin", "personal", "engine", "miner"} }

// Taken are the prefixes that can't be an alias: calls with them already mean something.
func Taken() []string {
	return slices.Concat(AlwaysOn(), []string{spaceLayer2, spaceRPC}, Optional(), []string{SpaceHardhat, SpaceAnvil}, Forbidden())
}

// Namespace is the prefix of the method's name.
func (r *Row) Namespace() string {
	space, _, _ := strings.Cut(r.Name, "_")
	return space
}

// OptionalNamespace is the namespace that a network must turn on to serve the method, or "".
func (r *Row) OptionalNamespace() string {
	if space := r.Namespace(); !r.Scoped && slices.Contains(Optional(), space) {
		return space
	}
	return ""
}

// Layer2 tells whether only layer-2 networks have the method.
func (r *Row) Layer2() bool { return r.Namespace() == spaceLayer2 }

// Alias is the method under a network's own prefix, such as linea_estimateGas; "" where
// the network has none or the method is not of layer 2.
func (r *Row) Alias(prefix string) string {
	short, ok := strings.CutPrefix(r.Name, spaceLayer2+"_")
	if !ok || prefix == "" {
		return ""
	}
	return prefix + "_" + short
}

// Offered reports whether a method may reach a node of a network that has turned these
// namespaces on. Methods that sign never do: the service holds no keys. Of the debug
// namespace only methods with a row do: the others write or read files on the server, or
// rewind its chain. Of erigon only the one that Otterscan asks for does.
func Offered(name string, namespaces []string) bool {
	space, rest, ok := strings.Cut(name, "_")
	switch {
	case !ok || rest == "" || !plainName(name):
		return false
	case space == spaceEth:
		return !signs(name)
	case space == spaceNet || space == spaceWeb3:
		return true
	case (space == SpaceDebug || space == spaceErigon) && Of(name) == unknown, Of(name).Scoped:
		return false
	}
	return slices.Contains(namespaces, space)
}

// OfferedToDevelopers reports whether a key with the scope development may call a method of
// an embedded network, whatever namespaces the network has turned on.
func OfferedToDevelopers(name string) bool {
	return Of(name).Scoped || Offered(name, Optional())
}

// signs tells whether a method needs a key on the server.
func signs(name string) bool {
	return strings.HasPrefix(name, "eth_sign") || name == EthSendTransaction || name == "eth_resend"
}

// plainName keeps names that no method has from nodes: who knows what they read into
// a quote or a control character.
func plainName(name string) bool {
	for _, c := range []byte(name) {
		if c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// Traces tells whether a method belongs to the namespaces of traces, which take longest.
func Traces(name string) bool {
	return strings.HasPrefix(name, SpaceDebug+"_") || strings.HasPrefix(name, SpaceTrace+"_")
}

// InTurn tells whether a call of a batch must wait for those before it and be waited for:
// transactions are sent in the order of the batch, and subscriptions change the socket.
// Nodes have methods that send and have no row.
func InTurn(name string) bool {
	return strings.HasPrefix(name, "eth_send") || strings.HasSuffix(name, "subscribe")
}
