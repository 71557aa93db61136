package snippet

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

//go:embed templates/*.tmpl
var files embed.FS

// Endpoint is a network as one key reaches it.
type Endpoint struct {
	Network  string // its name
	HTTP     string // with the key in it
	WS       string // with the key in it
	Secret   bool   // the key requires its secret
	ChainID  uint64 // 0 is not known now
	Currency string // the symbol of the native currency; "" is ETH
	Explorer string // the URL of a block explorer; "" is none
}

// Store is the storage gateway as one key reaches it.
type Store struct {
	URL     string // https://localhost:5001
	Key     string
	LocalCA bool // its certificate is of the local authority: clients have to be told
}

// Snippet is a small program.
type Snippet struct {
	ID       string // in addresses of pages: ethers
	Name     string // for people: ethers
	Language string // sh, js, go, py, rs or toml
	Needs    string // what is installed first, "" is nothing
	File     string // where it is saved; "" is pasted into a shell
	Run      string // how the file is used
	Note     string // what else to know; "" is nothing
	Text     string

	browser bool // for programs in browsers, which can't keep a secret and know a chain by its ID
}

// Set holds the parsed templates.
type Set struct {
	templates *template.Template
}

// New parses the templates.
func New() (*Set, error) {
	t, err := template.New("").Funcs(template.FuncMap{"sh": shellQuote, "js": jsQuote, "go": strconv.Quote, "password": passwordFrom}).ParseFS(files, "templates/*.tmpl")
	if err != nil {
		return nil, fmt.Errorf("snippet: %w", err)
	}
	return &Set{templates: t}, nil
}

// RPC are the snippets for a network. Those for browsers are left out for a key that
// requires its secret, and where the chain ID is not known.
func (s *Set) RPC(e Endpoint) ([]Snippet, error) {
	list := rpcSnippets(e.Network)
	if e.Secret || e.ChainID == 0 {
		list = slices.DeleteFunc(list, func(one Snippet) bool { return one.browser })
	}
	return s.fill(e, list)
}

func rpcSnippets(network string) []Snippet {
	return []Snippet{
		{ID: "curl", Name: "curl", Language: "sh"},
		{ID: "wscat", Name: "wscat", Language: "sh", Needs: "npm install -g wscat"},
		{ID: "ethers", Name: "ethers", Language: "js", Needs: "npm install ethers", File: "block.mjs", Run: "node block.mjs"},
		{ID: "viem", Name: "viem", Language: "js", Needs: "npm install viem", File: "block.mjs", Run: "node block.mjs"},
		{ID: "wagmi", Name: "wagmi", Language: "js", Needs: "npm install @wagmi/core viem", File: "block.mjs", Run: "node block.mjs", browser: true,
			Note: "In React, import createConfig and http from wagmi instead, and give the configuration to WagmiProvider."},
		{ID: "web3", Name: "web3.js", Language: "js", Needs: "npm install web3", File: "block.mjs", Run: "node block.mjs"},
		{ID: "web3py", Name: "web3.py", Language: "py", Needs: "pip install web3", File: "block.py", Run: "python3 block.py"},
		{ID: "geth", Name: "go-ethereum", Language: "go", Needs: "go get github.com/ethereum/go-ethereum", File: "block.go", Run: "go run block.go"},
		{ID: "alloy", Name: "alloy", Language: "rs", Needs: "cargo add alloy && cargo add tokio --features full", File: "src/main.rs", Run: "cargo run"},
		{ID: "hardhat", Name: "Hardhat", Language: "js", Needs: "npm pkg set type=module && npm install --save-dev hardhat", File: "hardhat.config.js", Run: "npx hardhat block",
			Note: "Hardhat 3 needs Node.js 22."},
		{ID: "foundry", Name: "Foundry", Language: "toml", Needs: "foundryup", File: "foundry.toml", Run: "cast block-number --rpc-url " + network,
			Note: "forge and cast know the endpoint by its name: forge script --rpc-url " + network + " --broadcast script/Deploy.s.sol"},
		{ID: "cast", Name: "cast", Language: "sh", Needs: "foundryup"},
		{ID: "metamask", Name: "MetaMask", Language: "js", browser: true,
			Note: "For your own page. It asks MetaMask, or another wallet in the browser, to add the network with this key."},
	}
}

// Storage are the snippets for the storage gateway.
func (s *Set) Storage(at Store) ([]Snippet, error) {
	run := "node add.mjs"
	if at.LocalCA {
		run = "NODE_EXTRA_CA_CERTS=ca.pem " + run
	}
	return s.fill(at, []Snippet{
		{ID: "storage-curl", Name: "curl", Language: "sh"},
		{ID: "storage-kubo", Name: "kubo-rpc-client", Language: "js", Needs: "npm install kubo-rpc-client", File: "add.mjs", Run: run},
		{ID: "storage-go", Name: "Go", Language: "go", File: "add.go", Run: "go run add.go"},
	})
}

// TrustCommand writes the certificate that clients of a gateway with LocalCA trust.
const TrustCommand = "nodegate ca > ca.pem"

// fill runs the template of each snippet.
func (s *Set) fill(data any, list []Snippet) ([]Snippet, error) {
	for i := range list {
		var b bytes.Buffer
		if err := s.templates.ExecuteTemplate(&b, list[i].ID+".tmpl", data); err != nil {
			return nil, fmt.Errorf("snippet: %w", err)
		}
		list[i].Text = b.String()
	}
	return list, nil
}

// plainWord is what no shell reads anything into.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=-]+$`)

// shellQuote makes one word of a text for every POSIX shell.
func shellQuote(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// passwordFrom puts a password into an address, for a template to read it from a variable.
func passwordFrom(address, variable string) string {
	return strings.Replace(address, "://", "://:"+variable+"@", 1)
}

// jsQuote makes a JavaScript string of a text. Python, Rust and TOML read it too.
func jsQuote(s string) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(s)
	return strings.TrimSuffix(b.String(), "\n"), err
}
