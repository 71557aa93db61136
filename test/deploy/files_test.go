package deploy

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

const folder = "../../deploy"

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// parse reads a YAML file of several documents.
func parse[T any](t *testing.T, name string) (list []T) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(read(t, name)))
	for {
		var one T
		if err := d.Decode(&one); err == io.EOF {
			return list
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list = append(list, one)
	}
}

// secrets are values of the variables that a deployment has to set.
var secrets = map[string]string{
	"NODEGATE_PEPPER":         strings.Repeat("p", 32),
	"NODEGATE_STORE_POSTGRES": "postgres://user:password@postgres:5432/nodegate",
	"NODEGATE_REDIS_URL":      "redis://redis:6379/0",
}

// load reads a configuration as a server does, with these variables set.
func load(t *testing.T, text string, variables []string) *config.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nodegate.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var env []string
	for _, name := range variables {
		if value := secrets[name]; value != "" {
			env = append(env, name+"="+value)
		}
	}
	cfg, err := config.Load(config.Options{File: path, Env: env})
	if err != nil {
		t.Fatalf("nodegate refuses the configuration: %v", err)
	}
	return cfg
}

// TestNames looks for variables and flags of nodegate in every file.
func TestNames(t *testing.T) {
	known := map[string]bool{"NODEGATE_CONFIG": true, "--config": true}
	for _, s := range config.Settings() {
		known[s.Env], known[s.Flag] = true, true
	}
	variable := regexp.MustCompile(`\bNODEGATE_[A-Z0-9_]+`)
	command := regexp.MustCompile(`(?m)^(?:ExecStart=|\s+args: |ENTRYPOINT |HEALTHCHECK .*CMD ).*$`)
	flag := regexp.MustCompile(`--[a-z][a-z-]*`)
	found := 0
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		names := variable.FindAllString(string(text), -1)
		for _, line := range command.FindAllString(string(text), -1) {
			_, words, _ := strings.Cut(line, "CMD") // HEALTHCHECK has flags of its own
			if !strings.Contains(line, "CMD") {
				words = line
			}
			names = append(names, flag.FindAllString(words, -1)...)
		}
		for _, name := range names {
			found++
			if !known[name] {
				t.Errorf("%s uses %s, which nodegate doesn't have", path, name)
			}
		}
		return nil
	})
	if err != nil || found < 10 {
		t.Errorf("%d names, %v: the test looks in the wrong place", found, err)
	}
}

// port is the port of an address.
func port(t *testing.T, address string) string {
	t.Helper()
	_, p, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

type composeFile struct {
	Services map[string]struct {
		Image       string            `yaml:"image"`
		Environment map[string]string `yaml:"environment"`
		ReadOnly    bool              `yaml:"read_only"`
		User        string            `yaml:"user"`
		Build       struct {
			Context    string `yaml:"context"`
			Dockerfile string `yaml:"dockerfile"`
		} `yaml:"build"`
		Volumes []string `yaml:"volumes"`
	} `yaml:"services"`
	Configs map[string]struct {
		File string `yaml:"file"`
	} `yaml:"configs"`
	Volumes map[string]any `yaml:"volumes"`
}

// TestCompose starts nothing: docker is not everywhere. nodegate reads what the containers
// would read, and HAProxy and Prometheus find the ports that it listens on.
func TestCompose(t *testing.T) {
	c := parse[composeFile](t, "compose/compose.yaml")[0]
	for name, file := range c.Configs {
		if _, err := os.Stat(filepath.Join(folder, "compose", file.File)); err != nil {
			t.Errorf("the file of %s is not there: %v", name, err)
		}
	}
	for _, name := range []string{"nodegate-1", "nodegate-2", "nodegate-3", "haproxy", "postgres", "redis", "geth", "prometheus", "grafana"} {
		if c.Services[name].Image == "" {
			t.Errorf("there is no service %s", name)
		}
	}
	for _, name := range []string{"nodegate-1", "nodegate-2", "nodegate-3"} {
		s := c.Services[name]
		if !s.ReadOnly || s.User != "65532:65532" {
			t.Errorf("%s can write to its root, or is root", name)
		}
		if _, err := os.Stat(filepath.Join(folder, "compose", s.Build.Context, s.Build.Dockerfile)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, v := range s.Volumes {
			volume, _, _ := strings.Cut(v, ":")
			if _, ok := c.Volumes[volume]; !ok {
				t.Errorf("%s uses the volume %s, which is not declared", name, volume)
			}
		}
		var variables []string
		for variable := range s.Environment {
			variables = append(variables, variable)
		}
		cfg := load(t, read(t, "compose/nodegate.yaml"), variables)
		if balancer := read(t, "haproxy.cfg"); !strings.Contains(balancer, " "+name+":"+port(t, cfg.Listen)) {
			t.Errorf("HAProxy doesn't know %s on port %s", name, port(t, cfg.Listen))
		}
		if monitor := read(t, "compose/prometheus.yml"); !strings.Contains(monitor, name+":"+port(t, cfg.AdminListen)) {
			t.Errorf("Prometheus doesn't know %s", name)
		}
		if !slices.Contains(cfg.Admin.Hosts, name) {
			t.Errorf("the admin listener refuses the name %s, which Prometheus uses", name)
		}
	}
}

type object struct {
	Kind     string            `yaml:"kind"`
	Metadata map[string]any    `yaml:"metadata"`
	Data     map[string]string `yaml:"data"`
	Spec     struct {
		Replicas     int `yaml:"replicas"`
		MinAvailable int `yaml:"minAvailable"`
		Template     struct {
			Metadata struct {
				Annotations map[string]string `yaml:"annotations"`
			} `yaml:"metadata"`
			Spec struct {
				Containers []container `yaml:"containers"`
			} `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
}

type container struct {
	Env []struct {
		Name string `yaml:"name"`
	} `yaml:"env"`
	Ports []struct {
		Name          string `yaml:"name"`
		ContainerPort int    `yaml:"containerPort"`
	} `yaml:"ports"`
	Startup   probe `yaml:"startupProbe"`
	Readiness probe `yaml:"readinessProbe"`
	Liveness  probe `yaml:"livenessProbe"`
}

type probe struct {
	HTTPGet struct {
		Path string `yaml:"path"`
		Port string `yaml:"port"`
	} `yaml:"httpGet"`
}

// TestKubernetes has nodegate read the configuration, and asks a real server what the probes
// ask.
func TestKubernetes(t *testing.T) {
	kinds := map[string]object{}
	for _, o := range parse[object](t, "kubernetes/nodegate.yaml") {
		kinds[o.Kind] = o
	}
	if len(kinds) != 4 || kinds["PodDisruptionBudget"].Spec.MinAvailable >= kinds["Deployment"].Spec.Replicas {
		t.Fatalf("the file has %d kinds of objects, or a budget that no pod can leave", len(kinds))
	}
	pod := kinds["Deployment"].Spec.Template
	c := pod.Spec.Containers[0]
	var variables []string
	for _, e := range c.Env {
		variables = append(variables, e.Name)
	}
	cfg := load(t, kinds["ConfigMap"].Data["nodegate.yaml"], variables)
	srv := harness.Start(t, nil)
	listeners := map[string]string{}
	for _, p := range c.Ports {
		at := map[string]struct{ want, url string }{"rpc": {cfg.Listen, srv.RPC}, "admin": {cfg.AdminListen, srv.Admin}}[p.Name]
		if want := port(t, at.want); want != yamlNumber(p.ContainerPort) {
			t.Errorf("the port %s is %d, and nodegate listens on %s", p.Name, p.ContainerPort, want)
		}
		listeners[p.Name] = at.url
	}
	for _, p := range []probe{c.Startup, c.Readiness, c.Liveness} {
		get(t, listeners[p.HTTPGet.Port]+p.HTTPGet.Path)
	}
	a := pod.Metadata.Annotations
	if a["prometheus.io/port"] != port(t, cfg.AdminListen) {
		t.Errorf("Prometheus asks port %s", a["prometheus.io/port"])
	}
	get(t, srv.Admin+a["prometheus.io/path"])
}

func yamlNumber(n int) string {
	text, _ := yaml.Marshal(n)
	return string(bytes.TrimSpace(text))
}

// get asks for a page that has to be there.
func get(t *testing.T, url string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("%s answers %s", url, res.Status)
	}
}

// TestStopTimes: a service manager waits until nodegate has stopped: for its shutdown_delay, and
// for requests to finish.
func TestStopTimes(t *testing.T) {
	const drain = 10 * time.Second
	for name, c := range map[string]struct{ delay, stop string }{
		"nodegate.service":         {"", `(?m)^TimeoutStopSec=(\d+)$`},
		"compose/compose.yaml":     {`NODEGATE_SHUTDOWN_DELAY: (\d+)s`, `stop_grace_period: (\d+)s`},
		"kubernetes/nodegate.yaml": {`NODEGATE_SHUTDOWN_DELAY\n\s+value: (\d+)s`, `terminationGracePeriodSeconds: (\d+)`},
	} {
		text := read(t, name)
		delay, stop := config.Default().ShutdownDelay, seconds(t, name, text, c.stop)
		if c.delay != "" {
			delay = seconds(t, name, text, c.delay)
		}
		if stop < delay+drain {
			t.Errorf("%s kills nodegate after %v, and its shutdown_delay is %v", name, stop, delay)
		}
	}
}

// seconds is the time that a pattern finds in a file.
func seconds(t *testing.T, name, text, pattern string) time.Duration {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("%s has no %s", name, pattern)
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(n) * time.Second
}

// TestContainer: the ports that the image declares are those that its variables set.
func TestContainer(t *testing.T) {
	text := read(t, "Containerfile")
	exposed := regexp.MustCompile(`(?m)^EXPOSE (.*)$`).FindStringSubmatch(text)
	listens := regexp.MustCompile(`NODEGATE_\w*LISTEN=:(\d+)`).FindAllStringSubmatch(text, -1)
	var ports []string
	for _, m := range listens {
		ports = append(ports, m[1])
	}
	if exposed == nil || !slices.Equal(strings.Fields(exposed[1]), ports) {
		t.Errorf("exposed are %q, and nodegate listens on %q", exposed, ports)
	}
	for _, want := range []string{"\nFROM scratch\n", "\nUSER 65532:65532\n", "CGO_ENABLED=0"} {
		if !strings.Contains(text, want) {
			t.Errorf("the file lacks %q", want)
		}
	}
}
