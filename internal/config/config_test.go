package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nodegate/nodegate/test/tlstest"
)

// plainData leaves out where values came from.
var plainData = cmpopts.IgnoreUnexported(Config{})

func TestDefault(t *testing.T) {
	want := &Config{
		Data: "./nodegate-data", Listen: "127.0.0.1:8545", StorageListen: "127.0.0.1:5001", AdminListen: "127.0.0.1:6060",
		DefaultNetwork: "devnet", DefaultPlan: "free",
		Log:     Log{Level: "info", Format: "text"},
		Tracing: Tracing{Sample: 1, ClientTraces: 10},
		Limits: Limits{
			BodyBytes: 5 << 20, BatchItems: 1000, ResponseBytes: 25 << 20, CallTimeout: 5 * time.Second, NodeTimeout: 10 * time.Second,
			HeavyPerAccount: 2, ConnsPerIP: 1024, PagesPerSecond: 50, SubscriptionsPerConn: 128, LogBlocks: 10000, LogResults: 10000,
			SocketsPerAccount: 6000, SubsPerAccount: 5000, CallsPerAccount: 256, BodyRate: 4 << 20, Sockets: 50_000, Subscriptions: 200_000,
			FailedKeysPerIP: 100,
		},
		Memory:  Memory{Answers: 128 << 20, State: 64 << 20, RequestLog: 32 << 20, Ledgers: 256 << 20, Requests: 256 << 20, PerAccount: 64 << 20},
		Payment: Payment{Processor: "test"},
		Mail:    Mail{Check: time.Minute},
		Alerts:  Alerts{After: time.Minute, ErrorRate: 5, Certificate: 14 * 24 * time.Hour},
		Usage:   Usage{Flush: 5 * time.Second},
		Storage: Storage{
			Engine: "embedded", Undo: 24 * time.Hour, Collect: time.Hour, Reserve: 1 << 30, MaxParts: 10_000, Timeout: 30 * time.Second,
			MaxNodes: 1 << 18, MaxRead: 1 << 40, MaxCompress: 1 << 30, MaxRequests: 64, MaxHeavy: 4,
			Kubo:    Kubo{Copies: 1, Fetch: true, Repair: time.Hour},
			Gateway: "off", GatewayRate: 50, GatewayHosts: []string{"localhost"},
		},
		Accounts:  Accounts{Follow: 500 * time.Millisecond},
		Dashboard: Dashboard{On: true, SignUp: true},
		Plans: map[string]Plan{
			"unlimited": {},
			"free": {
				CreditsPerSecond: 2000, Burst: 40_000, CreditsPerDay: 20_000_000, StoredBytes: 5 << 30, MovedBytes: 50 << 30,
				StorageWrites: 150, StorageReads: 1500, Keys: 1000,
			},
		},
		Costs: map[string]int64{
			"eth_getStorageAt": 80, "eth_getProof": 150, "eth_getTransactionByHash": 80, "eth_getTransactionByBlockHashAndIndex": 150,
			"eth_getTransactionReceipt": 80, "eth_getBlockReceipts": 1000, "eth_call": 80, "eth_estimateGas": 300,
			"layer2_estimateGas": 100, "eth_getLogs": 255, "eth_chainId": 5, "net_version": 5, "eth_sendRawTransaction": 80,
			"eth_subscribe": 5, "eth_subscription": 1, "other": 80, "unknown": 160, "refused": 5,
		},
		Networks: []Network{
			{Name: "devnet", Dialect: "spec", MaxLag: 5, MaxHeadAge: usualHeadAge, Retry: usualRetry, Hedge: usualHedge, Verify: "none", Verified: "none", Agree: 1, Ledger: usualLedger, Cache: 16 << 20, Embedded: &Embedded{Preset: "devnet", MaxSize: 20 << 30, DailyPerAccount: 1 << 30}},
			{
				Name: "rollup", Dialect: "spec", MaxLag: 5, MaxHeadAge: usualHeadAge, Retry: usualRetry, Hedge: usualHedge, Verify: "none", Verified: "none", Agree: 1, Ledger: usualLedger, Cache: 16 << 20, Embedded: &Embedded{Preset: "rollup", MaxSize: 20 << 30, DailyPerAccount: 1 << 30},
				HistoryWindow: map[string]uint64{"eth_getTransactionReceipt": 128},
				Layer2:        &Layer2{Stack: "linea", Alias: "linea", Margin: 1.2},
			},
		},
	}
	if diff := cmp.Diff(want, mustLoad(t, Options{}), plainData); diff != "" {
		t.Errorf("Load with no options (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, Default(), plainData); diff != "" {
		t.Errorf("Default (-want +got):\n%s", diff)
	}
}

// full sets everything that a file can set.
const full = `# a comment
data: state
listen: ":0"
storage_listen: "[::1]:0"
admin_listen: localhost:7070
default_network: main
default_plan: pro
trusted_proxies: [10.0.0.0/8, "::1"]
tls:
  cert: cert.pem
  key: ` + "KEY" + `
log: {level: debug, format: json, requests: true}
tracing: {url: "http://collector:4318/v1/traces", authorization_file: secrets/tracing, sample: 5%, client_traces: 3}
limits:
  body_bytes: 64KiB
  batch_items: 7
  response_bytes: 1048576
  call_timeout: 1m30s
  node_timeout: 20s
  heavy_calls_per_account: 1
  connections_per_ip: 9
  pages_per_second: 8
  subscriptions_per_connection: 3
  sockets_per_account: 11
  subscriptions_per_account: 12
  calls_per_account: 13
  body_rate: 16KiB
  sockets: 14
  subscriptions: 15
  log_blocks: 100
  log_results: 50
  failed_keys_per_ip: 7
tracers: {javascript: true}
memory: {answers: 1GiB, state: 2 MiB, request_log: 3MiB, ledgers: 64MiB, requests: 512MiB, requests_per_account: 100MiB}
store: {postgres_file: secrets/postgres}
redis: {url_file: secrets/redis}
payment:
  processor: stripe
  stripe_key_file: secrets/stripe
  stripe_public_key: pk_test_shown
  stripe_url: http://127.0.0.1:12111
admin: {hosts: [monitor.internal, metrics], token_file: secrets/admin}
mail: {smtp_file: secrets/smtp, from: Gate <gate@example.com>, check: 5m}
alerts: {webhook_file: secrets/hook, webhook_secret_file: secrets/hook-secret, mail: ops@example.com, after: 30s, error_rate: 10%, certificate: 24h}
storage:
  engine: kubo
  cert: cert.pem
  key: ` + "KEY" + `
  undo: 1h
  collect: 10m
  reserve: 2GiB
  max_file: 1TiB
  max_parts: 5
  max_nodes: 2000
  max_read: 3MiB
  max_compress: 4MiB
  max_requests: 6
  max_heavy: 7
  timeout: 1m
  gateway: public
  gateway_rate: 9
  hosts: [files.example.com, "2001:db8::5"]
  gateway_hosts: [localhost, sites.example.com]
  kubo:
    copies: 2
    fetch: false
    repair_interval: 2h
    endpoints:
      - url: http://10.0.0.1:5001/api/v0/
      - {url: "https://h", headers_file: secrets/headers, hide_trace: true}
usage: {flush: 1m}
shutdown_delay: 3s
accounts: {follow: 1s}
dashboard: {on: false, signup: false, status: true, verify_email: true, url: "https://rpc.example.com", storage_url: "https://files.example.com:5001"}
plans:
  pro:
    credits_per_second: 1000
    burst: 20000
    credits_per_day: 5000000
    stored_bytes: 1TiB
    moved_bytes: 10
    storage_writes: 1
    storage_reads: 2
    keys: 30
    sockets: 31
    subscriptions: 32
  free: {credits_per_day: 1000}
costs: {eth_call: 0, debug_traceTransaction: 700, other: 81}
networks:
  - name: main
    dialect: standard
    cache: 1MiB
    embedded:
      genesis: genesis.json
      chain: sub/chain.rlp
      period: 12
    namespaces: [debug, txpool]
  - name: l2
    embedded:
    history_window:
      eth_call: 64
      eth_getProof: 1
    layer2:
      alias: scroll2
      dictionary: words
      margin: 2
  - name: far
    chain_id: 10
    max_lag: 7
    poll: 500ms
    max_head_age: 5m
    retry: {attempts: 2, budget: 50%}
    hedge: {off: true, delay: 200ms, budget: 10%}
    verify: state
    verify_genesis: words
    require_verified: roots
    agree: 2
    checkpoint: "22000000:0x5e24293602a11146e1bd055dc58d81919f221743496b5d1229c483b83d6f8c33"
    ledger: {blocks: 5000, min_block_time: 2s, backfill: 20, disk: 2GiB, memory: 8MiB}
    layer2: {stack: op}
    nodes:
      - url: http://10.0.0.5:8545
        ws: ws://10.0.0.5:8546/
      - name: provider
        url_file: secrets/node
        ws_file: secrets/ws
        role: backup
        tier: 3
        weight: 4
        methods: {only: ["eth_*", net_version], not: ["eth_getLogs"]}
        credits_per_day: 1000000
        credits_per_month: 20000000
        header_files: {x-api-key: secrets/stripe}
        credits_per_second: 500
        ca_file: secrets/ca
        cert_file: secrets/client
        key_file: secrets/client-key
        proxy_file: secrets/proxy
        gzip: true
        hide_trace: true
`

// What networks have that don't say.
var (
	usualRetry = Retry{Attempts: 3, Budget: 20}
	usualHedge = Hedge{Budget: 5}

	usualHeadAge = 30 * time.Second

	someCheckpoint = "22000000:0x5e24293602a11146e1bd055dc58d81919f221743496b5d1229c483b83d6f8c33"

	usualLedger = Ledger{Disk: 10 << 30}
)

func TestFullFile(t *testing.T) {
	dir := fullFolder(t)
	key := filepath.Join(dir, "key.pem")
	got := mustLoad(t, Options{File: write(t, dir, strings.ReplaceAll(full, "KEY", key)), Env: []string{"NODEGATE_PEPPER=" + thirtyTwo}})
	costs := builtinCosts()
	costs["eth_call"], costs["debug_traceTransaction"], costs["other"] = 0, 700, 81
	want := &Config{
		Data: "state", Listen: ":0", StorageListen: "[::1]:0", AdminListen: "localhost:7070",
		DefaultNetwork: "main", DefaultPlan: "pro", Pepper: thirtyTwo, ShutdownDelay: 3 * time.Second, TrustedProxies: []string{"10.0.0.0/8", "::1"},
		TLS:   TLS{Cert: filepath.Join(dir, "cert.pem"), Key: key},
		Admin: Admin{Hosts: []string{"monitor.internal", "metrics"}, Token: "hidden-admin-token", TokenFile: filepath.Join(dir, "secrets/admin")},
		Log:   Log{Level: "debug", Format: "json", Requests: true},
		Tracing: Tracing{
			URL: "http://collector:4318/v1/traces", Authorization: "Bearer hidden", AuthorizationFile: filepath.Join(dir, "secrets/tracing"), Sample: 5, ClientTraces: 3,
		},
		Limits: Limits{
			BodyBytes: 64 << 10, BatchItems: 7, ResponseBytes: 1 << 20, CallTimeout: 90 * time.Second, NodeTimeout: 20 * time.Second,
			HeavyPerAccount: 1, ConnsPerIP: 9, PagesPerSecond: 8, SubscriptionsPerConn: 3, LogBlocks: 100, LogResults: 50,
			SocketsPerAccount: 11, SubsPerAccount: 12, CallsPerAccount: 13, BodyRate: 16 << 10, Sockets: 14, Subscriptions: 15,
			FailedKeysPerIP: 7,
		},
		Tracers: Tracers{JavaScript: true},
		Memory:  Memory{Answers: 1 << 30, State: 2 << 20, RequestLog: 3 << 20, Ledgers: 64 << 20, Requests: 512 << 20, PerAccount: 100 << 20},
		Store:   Store{Postgres: "postgres://u:p@h/db", PostgresFile: filepath.Join(dir, "secrets/postgres")},
		Redis:   Redis{URL: "redis://h:6379/1", URLFile: filepath.Join(dir, "secrets/redis")},
		Payment: Payment{
			Processor: "stripe", StripeKey: "sk_test_hidden", StripeKeyFile: filepath.Join(dir, "secrets/stripe"),
			StripePublicKey: "pk_test_shown", StripeURL: "http://127.0.0.1:12111",
		},
		Storage: Storage{
			Engine: "kubo", TLS: TLS{Cert: filepath.Join(dir, "cert.pem"), Key: key}, Undo: time.Hour, Collect: 10 * time.Minute,
			Reserve: 2 << 30, MaxFile: 1 << 40, MaxParts: 5, Timeout: time.Minute,
			MaxNodes: 2000, MaxRead: 3 << 20, MaxCompress: 4 << 20, MaxRequests: 6, MaxHeavy: 7, Gateway: "public", GatewayRate: 9,
			Hosts: []string{"files.example.com", "2001:db8::5"}, GatewayHosts: []string{"localhost", "sites.example.com"},
			Kubo: Kubo{Copies: 2, Repair: 2 * time.Hour, Endpoints: []KuboEndpoint{
				{URL: "http://10.0.0.1:5001"},
				{URL: "https://h", HeadersFile: filepath.Join(dir, "secrets/headers"), Headers: map[string]Secret{"Authorization": "Bearer hidden", "X-Two": "2"}, HideTrace: true},
			}},
		},
		Mail: Mail{SMTP: "smtps://u:hidden@h", SMTPFile: filepath.Join(dir, "secrets/smtp"), From: "Gate <gate@example.com>", Check: 5 * time.Minute},
		Alerts: Alerts{
			Webhook: "https://h/swordfish?x=1", WebhookFile: filepath.Join(dir, "secrets/hook"), WebhookSecret: "hidden-hook-secret", WebhookSecretFile: filepath.Join(dir, "secrets/hook-secret"),
			Mail: "ops@example.com", After: 30 * time.Second, ErrorRate: 10, Certificate: 24 * time.Hour,
		},
		Usage:     Usage{Flush: time.Minute},
		Accounts:  Accounts{Follow: time.Second},
		Dashboard: Dashboard{URL: "https://rpc.example.com", StorageURL: "https://files.example.com:5001", Status: true, VerifyEmail: true},
		Plans: map[string]Plan{
			"unlimited": {}, "free": {CreditsPerDay: 1000, Keys: 1000},
			"pro": {
				CreditsPerSecond: 1000, Burst: 20_000, CreditsPerDay: 5_000_000, StoredBytes: 1 << 40, MovedBytes: 10,
				StorageWrites: 1, StorageReads: 2, Keys: 30, Sockets: 31, Subscriptions: 32,
			},
		},
		Costs: costs,
		Networks: []Network{
			{
				Name: "main", Dialect: "standard", MaxLag: 5, MaxHeadAge: usualHeadAge, Retry: usualRetry, Hedge: usualHedge, Verify: "none", Verified: "none", Agree: 1, Ledger: usualLedger, Cache: 1 << 20, Namespaces: []string{"debug", "txpool"},
				Embedded: &Embedded{
					Genesis: filepath.Join(dir, "genesis.json"), Chain: filepath.Join(dir, "sub/chain.rlp"), Period: 12, MaxSize: 20 << 30, DailyPerAccount: 1 << 30,
				},
			},
			{
				Name: "l2", Dialect: "spec", MaxLag: 5, MaxHeadAge: usualHeadAge, Retry: usualRetry, Hedge: usualHedge, Verify: "none", Verified: "none", Agree: 1, Ledger: usualLedger, Cache: 16 << 20, Embedded: &Embedded{Preset: "devnet", MaxSize: 20 << 30, DailyPerAccount: 1 << 30},
				HistoryWindow: map[string]uint64{"eth_call": 64, "eth_getProof": 1},
				Layer2:        &Layer2{Stack: "linea", Alias: "scroll2", Dictionary: filepath.Join(dir, "words"), Margin: 2},
			},
			{
				Name: "far", Dialect: "spec", ChainID: 10, MaxLag: 7, Poll: 500 * time.Millisecond, MaxHeadAge: 5 * time.Minute, Retry: Retry{2, 50}, Hedge: Hedge{true, 200 * time.Millisecond, 10}, Verify: "state", Genesis: filepath.Join(dir, "words"), Verified: "roots", Agree: 2, Checkpoint: someCheckpoint, Ledger: Ledger{5000, 20, 2 * time.Second, 2 << 30, 8 << 20, false}, Cache: 64 << 20, Layer2: &Layer2{Stack: "op", Margin: 1.2},
				Nodes: []Node{
					{Name: "node-1", URL: "http://10.0.0.5:8545", WS: "ws://10.0.0.5:8546/", Role: "primary", Tier: 1, Weight: 1},
					{
						Name: "provider", Role: "backup", Tier: 3, Weight: 4, Only: []string{"eth_*", "net_version"}, Not: []string{"eth_getLogs"}, CreditsPerDay: 1_000_000, CreditsPerMonth: 20_000_000, CreditsPerSecond: 500,
						URL: "https://h/swordfish", URLFile: filepath.Join(dir, "secrets/node"), WS: "wss://h/swordfish", WSFile: filepath.Join(dir, "secrets/ws"),
						Headers:     map[string]Secret{"X-Api-Key": "sk_test_hidden"},
						HeaderFiles: map[string]string{"X-Api-Key": filepath.Join(dir, "secrets/stripe")},
						CAFile:      filepath.Join(dir, "secrets/ca"), CertFile: filepath.Join(dir, "secrets/client"), KeyFile: filepath.Join(dir, "secrets/client-key"),
						CA: content(t, dir, "ca"), Cert: content(t, dir, "client"), Key: content(t, dir, "client-key"),
						Proxy: "http://u:swordfish@proxy:3128", ProxyFile: filepath.Join(dir, "secrets/proxy"), Gzip: true, HideTrace: true,
					},
				},
			},
		},
	}
	if diff := cmp.Diff(want, got, plainData); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPrecedence(t *testing.T) {
	file := write(t, t.TempDir(), "listen: :1\nlog: {level: warn}\ndata: from-file\n")
	env := []string{"NODEGATE_LISTEN=:2", "NODEGATE_LOG_LEVEL=error", "NODEGATE_ADMIN_LISTEN=", "HOME=/root"}
	got := mustLoad(t, Options{File: file, Env: env, Flags: map[string]string{"listen": ":3"}})
	for _, c := range []struct{ name, got, want string }{
		{"flag over environment over file", got.Listen, ":3"},
		{"environment over file", got.Log.Level, "error"},
		{"file over default", got.Data, "from-file"},
		{"an empty variable is not set", got.AdminListen, "127.0.0.1:6060"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, c.got, c.want)
		}
	}
}

func TestFileFromEnvironment(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "listen: :1\n")
	if got := mustLoad(t, Options{Env: []string{"NODEGATE_CONFIG=" + file}}); got.Listen != ":1" {
		t.Errorf("Listen = %q, want the file's", got.Listen)
	}
	other := filepath.Join(dir, "other.yaml")
	if err := os.WriteFile(other, []byte("listen: :2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := mustLoad(t, Options{File: other, Env: []string{"NODEGATE_CONFIG=" + file}}); got.Listen != ":2" {
		t.Errorf("Listen = %q, want that of the file in the flag", got.Listen)
	}
}

func TestDefaultNetwork(t *testing.T) {
	for _, c := range []struct{ name, yaml, want string }{
		{"the only one", "networks: [{name: one, embedded: {}}]", "one"},
		{"several, none named", "networks: [{name: one, embedded: {}}, {name: two, embedded: {}}]", ""},
		{"several, one named", "default_network: two\nnetworks: [{name: one, embedded: {}}, {name: two, embedded: {}}]", "two"},
		{"built in, named", "default_network: rollup", "rollup"},
		{"built in", "# nothing", "devnet"},
		{"an empty file", "", "devnet"},
		{"a byte order mark and CRLF", "\ufeffdefault_network: rollup\r\n", "rollup"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := mustLoad(t, Options{File: write(t, t.TempDir(), c.yaml)})
			if got.DefaultNetwork != c.want {
				t.Errorf("DefaultNetwork = %q, want %q", got.DefaultNetwork, c.want)
			}
		})
	}
}

// TestForeignVariables lets through what others put under our prefix.
func TestForeignVariables(t *testing.T) {
	mustLoad(t, Options{Env: []string{
		"NODEGATE_CONFORMANCE=x", "NODEGATED=1",
		"NODEGATE_SERVICE_HOST=10.0.0.1", "NODEGATE_SERVICE_PORT=8545", "NODEGATE_SERVICE_PORT_RPC=8545",
		"NODEGATE_PORT=tcp://10.0.0.1:8545", "NODEGATE_PORT_8545_TCP=tcp://10.0.0.1:8545",
		"NODEGATE_PORT_8545_TCP_ADDR=10.0.0.1", "NODEGATE_PORT_8545_TCP_PROTO=tcp",
		"NODEGATE_ADMIN_SERVICE_HOST=10.0.0.1", "NODEGATE_ADMIN_PORT=tcp://10.0.0.1:6060",
	}})
}

func TestOverrideErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		opts Options
		want string
	}{
		{"flag", Options{Flags: map[string]string{"listen": "x"}},
			`--listen: "x" is not host:port; write it like 127.0.0.1:8545`},
		{"environment", Options{Env: []string{"NODEGATE_LIMITS_BATCH_ITEMS=many"}},
			`NODEGATE_LIMITS_BATCH_ITEMS: "many" is not a whole number; use plain digits, as in 1000`},
		{"unknown", Options{Env: []string{"NODEGATE_LIMIT_BATCH_ITEM=1"}},
			`NODEGATE_LIMIT_BATCH_ITEM: unknown variable; did you mean NODEGATE_LIMITS_BATCH_ITEMS?`},
		{"list", Options{Env: []string{"NODEGATE_TRUSTED_PROXIES=::1"}},
			`NODEGATE_TRUSTED_PROXIES: trusted_proxies can only be set in the configuration file`},
		{"a port that nobody made", Options{Env: []string{"NODEGATE_PORT=80"}},
			`NODEGATE_PORT: unknown variable; nodegate help lists the known ones`},
		{"cross-field", Options{Env: []string{"NODEGATE_TLS_KEY=" + os.Args[0]}},
			`NODEGATE_TLS_KEY: a private key needs its certificate; set tls.cert too`},
		{"the chosen one of two", Options{Env: []string{"NODEGATE_LISTEN=127.0.0.1:6060"}},
			`NODEGATE_LISTEN: listen and admin_listen are both 127.0.0.1:6060; give each its own port`},
		{"no such file", Options{File: "missing.yaml"},
			`missing.yaml: can't be read: no such file or directory; check --config or NODEGATE_CONFIG`},
		{"a folder", Options{File: "."}, `.: can't be read: is a directory`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(c.opts)
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

// TestAllProblems reports more than the first, in the order of the lines.
func TestAllProblems(t *testing.T) {
	file := write(t, t.TempDir(), "lisen: :1\nlimits:\n  batch_items: 0\n  call_timeout: 5\n")
	_, err := Load(Options{File: file, Env: []string{"NODEGATE_LOG_LEVEL=loud"}})
	var all Errors
	if !errors.As(err, &all) {
		t.Fatalf("got %T, want Errors", err)
	}
	var places [][2]int
	for _, e := range all {
		places = append(places, [2]int{e.Line, e.Column})
	}
	if want := [][2]int{{1, 1}, {3, 16}, {4, 17}, {0, 0}}; !slices.Equal(places, want) {
		t.Errorf("problems at %v, want %v:\n%v", places, want, err)
	}
	var first *Error
	if !errors.As(err, &first) || first.File != file {
		t.Errorf("errors.As does not find the first problem: %v", first)
	}
}

// TestLoadLeavesNoTrace makes sure that looking at a configuration makes no folder.
func TestLoadLeavesNoTrace(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	mustLoad(t, Options{Flags: map[string]string{"data": data}})
	if _, err := os.Stat(data); !os.IsNotExist(err) {
		t.Errorf("the data folder exists after Load: %v", err)
	}
}

func mustLoad(t *testing.T, o Options) *Config {
	t.Helper()
	c, err := Load(o)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return c
}

// write makes a configuration file and returns its path.
func write(t *testing.T, dir, text string) string {
	t.Helper()
	file := filepath.Join(dir, "nodegate.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// fullFolder holds the files that the full configuration names.
func fullFolder(t *testing.T) string {
	t.Helper()
	dir := folder(t, "genesis.json", "sub/chain.rlp", "words", "cert.pem", "key.pem", "secrets/x")
	authority := tlstest.NewAuthority(t)
	cert, key := authority.Issue(t)
	for name, text := range map[string]string{
		"postgres": "postgres://u:p@h/db\n", "redis": "  redis://h:6379/1", "stripe": "sk_test_hidden\r\n", "smtp": "smtps://u:hidden@h\n", "admin": "hidden-admin-token\n", "tracing": "Bearer hidden\n", "hook": "https://h/swordfish?x=1\n", "hook-secret": "hidden-hook-secret\n",
		"node": "https://h/swordfish\n", "ws": "wss://h/swordfish\n",
		"ca": authority.CA, "client": cert, "client-key": key, "proxy": "http://u:swordfish@proxy:3128\n",
		"headers": "authorization: Bearer hidden\r\n\nX-Two:2",
	} {
		if err := os.WriteFile(filepath.Join(dir, "secrets", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// content is what a file with a secret holds.
func content(t *testing.T, dir, name string) Secret {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "secrets", name))
	if err != nil {
		t.Fatal(err)
	}
	return Secret(strings.TrimSpace(string(text)))
}

// thirtyTwo is a pepper that is just long enough.
const thirtyTwo = "0123456789abcdef0123456789abcdef"

// folder makes a temporary folder with small files in it.
func folder(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A setting's old name is read in files and in the environment, and means the new one.
func TestOldNames(t *testing.T) {
	old := write(t, t.TempDir(), "limits: {heavy_calls_per_key: 3}\n")
	for name, opts := range map[string]Options{
		"file":        {File: old},
		"environment": {Env: []string{"NODEGATE_LIMITS_HEAVY_CALLS_PER_KEY=3"}},
		"both":        {Env: []string{"NODEGATE_LIMITS_HEAVY_CALLS_PER_KEY=9", "NODEGATE_LIMITS_HEAVY_CALLS_PER_ACCOUNT=3"}},
	} {
		if got := mustLoad(t, opts).Limits.HeavyPerAccount; got != 3 {
			t.Errorf("%s: %d", name, got)
		}
	}
	both := write(t, t.TempDir(), "limits: {heavy_calls_per_key: 3, heavy_calls_per_account: 4}\n")
	if _, err := Load(Options{File: both}); err == nil || !strings.Contains(err.Error(), "old name of limits.heavy_calls_per_account") {
		t.Errorf("both names in one file: %v", err)
	}
	journal := write(t, t.TempDir(), "memory: {journal: 3MiB}\n")
	for name, opts := range map[string]Options{"file": {File: journal}, "environment": {Env: []string{"NODEGATE_MEMORY_JOURNAL=3MiB"}}} {
		if got := mustLoad(t, opts).Memory.RequestLog; got != 3<<20 {
			t.Errorf("memory.journal in the %s: %d", name, got)
		}
	}
}
