package config

import (
	"time"

	"github.com/nodegate/nodegate/internal/method"
)

// settings declares everything that may stand at the top of the file. It is
// read, never written.
var settings = schema[Config]{
	fields: []field[Config]{
		{
			name: "data", def: "./nodegate-data", flag: true,
			help: "folder for chains and all other data; a relative path starts at the working directory",
			at:   func(c *Config) value { return text(&c.Data, notEmpty) },
		}, {
			name: "listen", def: "127.0.0.1:8545", flag: true,
			help: "address of JSON-RPC over HTTP and WebSocket",
			at:   func(c *Config) value { return text(&c.Listen, address) },
		}, {
			name: "storage_listen", def: "127.0.0.1:5001", flag: true,
			help: "address of the storage gateway: HTTPS, and on a loopback address plain HTTP too",
			at:   func(c *Config) value { return text(&c.StorageListen, address) },
		}, {
			name: "admin_listen", def: "127.0.0.1:6060", flag: true,
			help: "address of metrics, health and profiles; keep it private",
			at:   func(c *Config) value { return text(&c.AdminListen, address) },
		}, {
			name: "default_network",
			help: "network that /v3/KEY reaches without a name; by default the only one, or devnet with the built-in networks",
			at:   func(c *Config) value { return text(&c.DefaultNetwork, anyText) },
		}, {
			name: "default_plan", def: "free",
			help: "plan of new accounts",
			at:   func(c *Config) value { return text(&c.DefaultPlan, notEmpty) },
		}, {
			name: "shutdown_delay", def: "0s",
			help: "how long a stopping server keeps serving after /readyz answers 503, so that load balancers notice before it closes connections. Give the service manager a stop timeout of 10s more",
			at:   func(c *Config) value { return span(&c.ShutdownDelay, 0, time.Minute) },
		}, {
			name: "pepper", secret: true, noFile: true,
			help: "secret for key digests, 64 hex digits, the same on all servers; environment only; default: the file pepper in the data folder",
			at:   func(c *Config) value { return secret(&c.Pepper, pepper) },
		}, {
			name: "tls.cert",
			help: "certificate file of the JSON-RPC listener; requires tls.key",
			at:   func(c *Config) value { return text(&c.TLS.Cert, anyText) },
		}, {
			name: "tls.key",
			help: "private key file of the certificate; requires tls.cert",
			at:   func(c *Config) value { return text(&c.TLS.Key, anyText) },
		}, {
			name: "admin.token", secret: true,
			help: "token for profiles and POST requests on the admin listener from other machines, sent as Authorization: Bearer; without it only clients on this machine may use them",
			at:   func(c *Config) value { return secret(&c.Admin.Token, adminToken) },
		}, {
			name: "admin.token_file",
			help: "file that holds admin.token",
			at:   func(c *Config) value { return text(&c.Admin.TokenFile, anyText) },
		}, {
			name: "log.level", def: "info", flag: true,
			help: "minimum log level",
			at:   func(c *Config) value { return text(&c.Log.Level, oneOf("debug", "info", "warn", "error")) },
		}, {
			name: "log.format", def: "text",
			help: "log format",
			at:   func(c *Config) value { return text(&c.Log.Format, oneOf("text", "json")) },
		}, {
			name: "log.requests", def: "false",
			help: "log one line for each request: network, method, outcome, status, node, cache and time",
			at:   func(c *Config) value { return toggle(&c.Log.Requests) },
		}, {
			name: "tracing.url",
			help: "collector that receives traces, OTLP over HTTP, such as http://collector:4318/v1/traces; without it nothing is traced",
			at:   func(c *Config) value { return text(&c.Tracing.URL, webURL) },
		}, {
			name: "tracing.authorization", secret: true,
			help: "Authorization header of requests to the collector, such as Bearer TOKEN",
			at:   func(c *Config) value { return secret(&c.Tracing.Authorization, authValue) },
		}, {
			name: "tracing.authorization_file",
			help: "file that holds tracing.authorization",
			at:   func(c *Config) value { return text(&c.Tracing.AuthorizationFile, anyText) },
		}, {
			name: "tracing.sample", def: "1%",
			help: "share of requests that are traced",
			at:   func(c *Config) value { return percent(&c.Tracing.Sample, 0, 100) },
		}, {
			name: "tracing.client_traces", def: "10",
			help: "additional requests a second, for all clients together, that are traced because their traceparent header asks for it. One account gets at most a quarter of them; 0 ignores traceparent",
			at:   func(c *Config) value { return whole(&c.Tracing.ClientTraces, 0, 10_000) },
		}, {
			name: "limits.body_bytes", def: "5MiB",
			help: "largest request body or WebSocket message",
			at:   func(c *Config) value { return size(&c.Limits.BodyBytes, 1<<10, 256<<20) },
		}, {
			name: "limits.batch_items", def: "1000",
			help: "most requests in one batch",
			at:   func(c *Config) value { return whole(&c.Limits.BatchItems, 1, 100_000) },
		}, {
			name: "limits.response_bytes", def: "25MiB",
			help: "largest response, batches included",
			at:   func(c *Config) value { return size(&c.Limits.ResponseBytes, 1<<10, 1<<30) },
		}, {
			name: "limits.call_timeout", def: "5s",
			help: "time limit of one simulated call (" + method.EthCall + ", " + method.EthEstimateGas + ", " + method.EthSimulateV1 + ", " + method.EthCreateAccessList + ", " + method.SpaceDebug + "_trace...); waiting for other calls of the account counts, waiting for other accounts doesn't",
			at: func(c *Config) value {
				return span(&c.Limits.CallTimeout, 10*time.Millisecond, 10*time.Minute)
			},
		}, {
			name: "limits.node_timeout", def: "10s",
			help: "time limit of one call to remote nodes, retries included",
			at: func(c *Config) value {
				return span(&c.Limits.NodeTimeout, 100*time.Millisecond, 10*time.Minute)
			},
		}, {
			name: "limits.heavy_calls_per_account", was: "limits.heavy_calls_per_key", def: "2",
			help: "long-running calls of one account at the same time, on all networks together (formerly `limits.heavy_calls_per_key`, which is still read)",
			at:   func(c *Config) value { return whole(&c.Limits.HeavyPerAccount, 1, 1024) },
		}, {
			name: "limits.connections_per_ip", def: "1024",
			help: "open connections of one client address",
			at:   func(c *Config) value { return whole(&c.Limits.ConnsPerIP, 1, 1_000_000) },
		}, {
			name: "limits.pages_per_second", def: "50",
			help: "dashboard requests a second of one client address, and of one account from all of its addresses; four times as many at once; 0 is no limit",
			at:   func(c *Config) value { return whole(&c.Limits.PagesPerSecond, 0, 1_000_000) },
		}, {
			name: "limits.subscriptions_per_connection", def: "128",
			help: method.EthSubscribe + " subscriptions of one WebSocket",
			at:   func(c *Config) value { return whole(&c.Limits.SubscriptionsPerConn, 1, 100_000) },
		}, {
			name: "limits.sockets_per_account", def: "6000",
			help: "open WebSockets of one account, with all its keys; beyond it 429",
			at:   func(c *Config) value { return whole(&c.Limits.SocketsPerAccount, 1, maxOpen) },
		}, {
			name: "limits.subscriptions_per_account", def: "5000",
			help: method.EthSubscribe + " subscriptions of one account, with all its keys and WebSockets; beyond it -32005",
			at:   func(c *Config) value { return whole(&c.Limits.SubsPerAccount, 1, maxOpen) },
		}, {
			name: "limits.calls_per_account", def: "256",
			help: "request bodies and WebSocket messages of one account that are executed at the same time; the same number can wait (HTTP: 2 s), more get 429",
			at:   func(c *Config) value { return whole(&c.Limits.CallsPerAccount, 1, 1_000_000) },
		}, {
			name: "limits.body_rate", def: "4MiB",
			help: "bytes a second that one account may send in request bodies and WebSocket messages of more than 16 KiB, and four times as many at once; beyond it they wait, and get 429 if many wait; 0 is no limit",
			at:   func(c *Config) value { return size(&c.Limits.BodyRate, 0, 1<<40) },
		}, {
			name: "limits.sockets", def: "50000",
			help: "open WebSockets of all accounts together; beyond it 503",
			at:   func(c *Config) value { return whole(&c.Limits.Sockets, 1, maxOpen) },
		}, {
			name: "limits.subscriptions", def: "200000",
			help: method.EthSubscribe + " subscriptions of all accounts together; beyond it -32603 server busy",
			at:   func(c *Config) value { return whole(&c.Limits.Subscriptions, 1, maxOpen) },
		}, {
			name: "limits.log_blocks", def: "10000",
			help: "widest block range of " + method.EthGetLogs,
			at:   func(c *Config) value { return whole(&c.Limits.LogBlocks, 1, maxLogs) },
		}, {
			name: "limits.log_results", def: "10000",
			help: "most logs that " + method.EthGetLogs + " returns",
			at:   func(c *Config) value { return whole(&c.Limits.LogResults, 1, maxLogs) },
		}, {
			name: "limits.failed_keys_per_ip", def: "100",
			help: "unknown keys per second that one client address may send before they are refused without a lookup in the store",
			at:   func(c *Config) value { return whole(&c.Limits.FailedKeysPerIP, 1, 1_000_000) },
		}, {
			name: "tracers.javascript", def: "false",
			help: "on embedded networks, run tracers that clients send as JavaScript code; they stop at `limits.call_timeout`, but their memory use is not limited. Turn it on only if you trust all keys",
			at:   func(c *Config) value { return toggle(&c.Tracers.JavaScript) },
		}, {
			name: "memory.answers", def: "128MiB",
			help: "memory for pre-encoded responses and repeated calls, for each network",
			at:   func(c *Config) value { return size(&c.Memory.Answers, 1<<20, 1<<40) },
		}, {
			name: "memory.state", def: "64MiB",
			help: "memory for cached chain state, for each network",
			at:   func(c *Config) value { return size(&c.Memory.State, 1<<20, 1<<40) },
		}, {
			name: "memory.request_log", was: "memory.journal", def: "32MiB",
			help: "memory for the request log: the latest requests of all keys, kept for an hour (formerly `memory.journal`, which is still read)",
			at:   func(c *Config) value { return size(&c.Memory.RequestLog, 1<<20, 1<<40) },
		}, {
			name: "memory.ledgers", def: "256MiB",
			help: "memory to cache the verified copies of all networks together; a network with a `ledger.memory` uses that instead; a change needs a restart",
			at:   func(c *Config) value { return size(&c.Memory.Ledgers, leastLedgerMemory, 1<<40) },
		}, {
			name: "memory.requests", def: "256MiB",
			help: "memory that bodies, results, unread responses and uploads of all accounts may hold together; less under a small memory limit",
			at:   func(c *Config) value { return size(&c.Memory.Requests, 1<<20, 1<<40) },
		}, {
			name: "memory.requests_per_account", def: "64MiB",
			help: "memory that they may hold for one account; at least enough for the largest request and its response",
			at:   func(c *Config) value { return size(&c.Memory.PerAccount, 1<<20, 1<<40) },
		}, {
			name: "store.postgres", secret: true,
			help: "Postgres for accounts, keys and usage; SQLite in the data folder by default",
			at:   func(c *Config) value { return secret(&c.Store.Postgres, postgresURL) },
		}, {
			name: "store.postgres_file",
			help: "file that holds store.postgres",
			at:   func(c *Config) value { return text(&c.Store.PostgresFile, anyText) },
		}, {
			name: "redis.url", secret: true,
			help: "Redis through which several servers share limits and caches; without it each server applies limits on its own",
			at:   func(c *Config) value { return secret(&c.Redis.URL, redisURL) },
		}, {
			name: "redis.url_file",
			help: "file that holds redis.url",
			at:   func(c *Config) value { return text(&c.Redis.URLFile, anyText) },
		}, {
			name: "payment.processor", def: "test",
			help: "who verifies billing cards; test accepts only the public test cards",
			at:   func(c *Config) value { return text(&c.Payment.Processor, oneOf("test", "stripe")) },
		}, {
			name: "payment.stripe_key", secret: true,
			help: "secret key of Stripe",
			at:   func(c *Config) value { return secret(&c.Payment.StripeKey, stripeKey) },
		}, {
			name: "payment.stripe_key_file",
			help: "file that holds payment.stripe_key",
			at:   func(c *Config) value { return text(&c.Payment.StripeKeyFile, anyText) },
		}, {
			name: "payment.stripe_public_key",
			help: "publishable key of Stripe, for the form in the browser",
			at:   func(c *Config) value { return text(&c.Payment.StripePublicKey, stripePublicKey) },
		}, {
			name: "payment.stripe_url",
			help: "another URL for Stripe's API, for tests",
			at:   func(c *Config) value { return text(&c.Payment.StripeURL, webURL) },
		}, {
			name: "mail.smtp", secret: true,
			help: "mail server for links (sign-up, password reset, e-mail addresses) and warnings about credits; without it, warnings go to the log and operators print links",
			at:   func(c *Config) value { return secret(&c.Mail.SMTP, smtpURL) },
		}, {
			name: "mail.smtp_file",
			help: "file that holds mail.smtp",
			at:   func(c *Config) value { return text(&c.Mail.SMTPFile, anyText) },
		}, {
			name: "mail.from",
			help: "sender address of mails; required with mail.smtp",
			at:   func(c *Config) value { return text(&c.Mail.From, mailAddress) },
		}, {
			name: "mail.check", def: "1m",
			help: "how often usage is compared with the plans",
			at:   func(c *Config) value { return span(&c.Mail.Check, time.Second, time.Hour) },
		}, {
			name: "alerts.webhook", secret: true,
			help: "URL that receives alerts for operators as JSON: nodes, networks, disk, account store, certificates, error rate",
			at:   func(c *Config) value { return secret(&c.Alerts.Webhook, hookURL) },
		}, {
			name: "alerts.webhook_file",
			help: "file that holds alerts.webhook",
			at:   func(c *Config) value { return text(&c.Alerts.WebhookFile, anyText) },
		}, {
			name: "alerts.webhook_secret", secret: true,
			help: "secret that signs requests to alerts.webhook, in the header X-Nodegate-Signature",
			at:   func(c *Config) value { return secret(&c.Alerts.WebhookSecret, adminToken) },
		}, {
			name: "alerts.webhook_secret_file",
			help: "file that holds alerts.webhook_secret",
			at:   func(c *Config) value { return text(&c.Alerts.WebhookSecretFile, anyText) },
		}, {
			name: "alerts.mail",
			help: "address that receives the same alerts by mail; requires mail.smtp",
			at:   func(c *Config) value { return text(&c.Alerts.Mail, bareAddress) },
		}, {
			name: "alerts.after", def: "1m",
			help: "how long a problem must last before it is reported, and how long it must be gone before its end is reported",
			at:   func(c *Config) value { return span(&c.Alerts.After, time.Second, time.Hour) },
		}, {
			name: "alerts.error_rate", def: "5%",
			help: "share of failed calls that raises an alert; client errors don't count; 0% never raises one",
			at:   func(c *Config) value { return percent(&c.Alerts.ErrorRate, 0, 100) },
		}, {
			name: "alerts.certificate", def: "336h",
			help: "how long before expiry a configured certificate is reported",
			at:   func(c *Config) value { return span(&c.Alerts.Certificate, 0, 365*24*time.Hour) },
		}, {
			name: "storage.engine", def: "embedded",
			help: "where the storage gateway keeps content: embedded in the data folder, on the nodes of storage.kubo, or off for no gateway",
			at:   func(c *Config) value { return text(&c.Storage.Engine, oneOf("embedded", "kubo", "off")) },
		}, {
			name: "storage.cert",
			help: "certificate file of the storage gateway; requires storage.key; by default a local authority in the data folder creates one",
			at:   func(c *Config) value { return text(&c.Storage.TLS.Cert, anyText) },
		}, {
			name: "storage.key",
			help: "private key file of the storage gateway's certificate; requires storage.cert",
			at:   func(c *Config) value { return text(&c.Storage.TLS.Key, anyText) },
		}, {
			name: "storage.undo", def: "24h",
			help: "how long unpinned content stays before garbage collection may remove it",
			at:   func(c *Config) value { return span(&c.Storage.Undo, 0, 365*24*time.Hour) },
		}, {
			name: "storage.collect", def: "1h",
			help: "how often garbage collection runs",
			at:   func(c *Config) value { return span(&c.Storage.Collect, time.Minute, 30*24*time.Hour) },
		}, {
			name: "storage.reserve", def: "1GiB",
			help: "disk space to keep free. Below it, uploads, transactions and account changes are refused (507, -32000) and no blocks are produced, but reads still work. If you set less than 8MiB, uploads may use the rest, and transactions and account changes still keep 8MiB free",
			at:   func(c *Config) value { return size(&c.Storage.Reserve, 0, 1<<50) },
		}, {
			name: "storage.max_file", def: "0",
			help: "largest upload in bytes; 0 is limited only by the account's quota",
			at:   func(c *Config) value { return size(&c.Storage.MaxFile, 0, 1<<50) },
		}, {
			name: "storage.max_parts", def: "10000",
			help: "most files of one upload",
			at:   func(c *Config) value { return whole(&c.Storage.MaxParts, 1, 1_000_000) },
		}, {
			name: "storage.max_nodes", def: "262144",
			help: "most blocks that one listing or archive reads to find its entries",
			at:   func(c *Config) value { return whole(&c.Storage.MaxNodes, 1000, 1<<30) },
		}, {
			name: "storage.max_read", def: "1TiB",
			help: "most content that one request reads; larger files are read in parts",
			at:   func(c *Config) value { return size(&c.Storage.MaxRead, 1<<20, 1<<60) },
		}, {
			name: "storage.max_compress", def: "1GiB",
			help: "most content that one get with compress reads",
			at:   func(c *Config) value { return size(&c.Storage.MaxCompress, 1<<20, 1<<50) },
		}, {
			name: "storage.max_requests", def: "64",
			help: "requests of one account, or of one address of the public read gateway, at the same time",
			at:   func(c *Config) value { return whole(&c.Storage.MaxRequests, 1, 1_000_000) },
		}, {
			name: "storage.max_heavy", def: "4",
			help: "listings, archives, exports and pins of one account at the same time",
			at:   func(c *Config) value { return whole(&c.Storage.MaxHeavy, 1, 10_000) },
		}, {
			name: "storage.timeout", def: "30s",
			help: "time limit of a command that doesn't stream, when the request sets no timeout",
			at:   func(c *Config) value { return span(&c.Storage.Timeout, time.Second, time.Hour) },
		}, {
			name: "storage.gateway", def: "off",
			help: "who may read with GET /ipfs/CID: nobody, holders of a key with its secret, or everybody",
			at:   func(c *Config) value { return text(&c.Storage.Gateway, oneOf("off", "keys", "public")) },
		}, {
			name: "storage.gateway_rate", def: "50",
			help: "requests a second that one client address may make to the public read gateway",
			at:   func(c *Config) value { return whole(&c.Storage.GatewayRate, 1, 1_000_000) },
		}, {
			name: "storage.kubo.copies", def: "1",
			help: "on how many nodes each upload and each pin is kept; at most the number of endpoints",
			at:   func(c *Config) value { return whole(&c.Storage.Kubo.Copies, 1, maxEndpoints) },
		}, {
			name: "storage.kubo.fetch", def: "true",
			help: "whether the nodes may fetch missing content from the public network",
			at:   func(c *Config) value { return toggle(&c.Storage.Kubo.Fetch) },
		}, {
			name: "storage.kubo.repair_interval", def: "1h",
			help: "how often nodegate checks that content is pinned on storage.kubo.copies nodes, and copies what is missing; a node that is unavailable for that long counts as lost; 0 is off",
			at:   func(c *Config) value { return span(&c.Storage.Kubo.Repair, 0, 30*24*time.Hour) },
		}, {
			name: "usage.flush", def: "5s",
			help: "how often usage is written to the store",
			at:   func(c *Config) value { return span(&c.Usage.Flush, time.Second, time.Minute) },
		}, {
			name: "accounts.follow", def: "500ms",
			help: "how often a server reads changes that other servers made to accounts and keys",
			at:   func(c *Config) value { return span(&c.Accounts.Follow, 100*time.Millisecond, time.Second) },
		}, {
			name: "dashboard.on", def: "true",
			help: "serve the dashboard beside JSON-RPC",
			at:   func(c *Config) value { return toggle(&c.Dashboard.On) },
		}, {
			name: "dashboard.signup", def: "true",
			help: "let anyone who reaches the dashboard create an account",
			at:   func(c *Config) value { return toggle(&c.Dashboard.SignUp) },
		}, {
			name: "dashboard.status", def: "false",
			help: "serve a public status page at /status: which networks are available, and their share of successful requests by day",
			at:   func(c *Config) value { return toggle(&c.Dashboard.Status) },
		}, {
			name: "dashboard.verify_email", def: "false",
			help: "let accounts create API keys only after their e-mail address was verified; existing accounts count as verified",
			at:   func(c *Config) value { return toggle(&c.Dashboard.VerifyEmail) },
		}, {
			name: "dashboard.url",
			help: "URL of JSON-RPC and the dashboard, shown on pages and used for links in mails; default: the browser's URL, and in mails the listener's",
			at:   func(c *Config) value { return text(&c.Dashboard.URL, webURL) },
		}, {
			name: "dashboard.storage_url",
			help: "storage gateway URL that the dashboard shows; default: the browser's host with the listener's port",
			at:   func(c *Config) value { return text(&c.Dashboard.StorageURL, webURL) },
		},
	},
	groups: []group[Config]{
		{
			name: "trusted_proxies",
			help: "addresses and ranges of proxies whose `X-Forwarded-*` headers are trusted; none by default. Limits by address and the audit log use the client address in these headers",
			read: readProxies,
		}, {
			name: "admin.hosts",
			help: "host names of the admin listener; IP addresses and `localhost` always work. Requests with other host names get 403",
			read: readAdminHosts,
		}, {
			name: "storage.hosts",
			help: "additional host names and addresses in the storage gateway's own certificate, such as `[files.example.com, 192.168.1.5]`; only without `storage.cert`",
			read: readCertHosts,
		}, {
			name: "storage.gateway_hosts",
			help: "host names of the read gateway below which each CID is a website with a separate origin, as `CID.ipfs.HOST`; paths on these hosts redirect there; `[localhost]` by default, `[]` for none. DNS needs a record for `*.ipfs.HOST`, and `storage.cert`, if set, must include that name",
			read: readGatewayHosts,
		}, {
			name: "storage.kubo.endpoints",
			help: "the RPC APIs of the nodes that keep content with `storage.engine: kubo`, as under Storage nodes in docs/config.md",
			read: readEndpoints,
		}, {
			name: "plans",
			help: "plans by name, as under Plans in docs/config.md; by default the built-in `free` and `unlimited`",
			read: readPlans,
		}, {
			name: "costs",
			help: "credits that a call costs, by method, as under Costs in docs/config.md",
			read: readCosts,
		}, {
			name: "networks",
			help: "the chains to serve, as under Networks in docs/config.md; by default the built-in `devnet` and `rollup`",
			read: readNetworks,
		},
	},
}
