package chaos

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// inCgroup has the program run in a control group with so much memory. It reports
// whether that can be done here.
func (b *sandbox) inCgroup(limit int64) bool {
	b.t.Helper()
	for _, root := range []struct{ dir, file string }{{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"}} {
		dir := filepath.Join(root.dir, fmt.Sprintf("nodegate-chaos-%d-%d", os.Getpid(), time.Now().UnixNano()))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		b.t.Cleanup(func() {
			for range 50 { // until its processes are gone
				if os.Remove(dir) == nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
		if os.WriteFile(filepath.Join(dir, root.file), fmt.Append(nil, limit), 0o600) == nil {
			b.cgroup = dir
			return true
		}
	}
	return false
}

// crowdOf are hostile clients. Each has a source address of a few, so that the limit on
// connections of one address is not what stops them.
type crowdOf struct {
	addr  string
	conns []net.Conn
	wait  sync.WaitGroup

	mu       sync.Mutex
	statuses map[int]int // answers by status; 0 is none
	noRetry  int         // of refusals, those that don't say when to try again
	held     []time.Duration
	failed   atomic.Int64 // that could not connect
}

func (c *crowdOf) dial(i int) net.Conn {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+i%4))}, Timeout: 20 * time.Second}
	conn, err := d.Dial("tcp", c.addr)
	if err != nil {
		c.failed.Add(1)
		return nil
	}
	_ = conn.(*net.TCPConn).SetWriteBuffer(64 << 10) // as much as a client far away has in progress
	return conn
}

// apart is how long after one client the next one comes. All at once they would measure
// how long it takes this side to send 5 GB.
const apart = 8 * time.Millisecond

// begin connects client i when it is its turn and has it send something, without its end.
func (c *crowdOf) begin(i int, head string, body []byte, read bool) {
	c.wait.Go(func() {
		time.Sleep(time.Duration(i) * apart)
		conn := c.dial(i)
		if conn == nil {
			return
		}
		c.mu.Lock()
		c.conns = append(c.conns, conn)
		c.mu.Unlock()
		begun := time.Now()
		go func() {
			_, _ = io.WriteString(conn, head)
			_, _ = conn.Write(body)
		}()
		if read {
			c.see(conn, begun)
		}
	})
}

// see waits for an answer and for the end of the connection.
func (c *crowdOf) see(conn net.Conn, begun time.Time) {
	in := bufio.NewReader(conn)
	status, retry := 0, true
	if res, err := http.ReadResponse(in, nil); err == nil {
		status, retry = res.StatusCode, res.Header.Get("Retry-After") != ""
		_, _ = io.Copy(io.Discard, res.Body)
	}
	_, _ = io.Copy(io.Discard, in)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.statuses[status]++
	c.held = append(c.held, time.Since(begun))
	if (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) && !retry {
		c.noRetry++
	}
}

// leave ends all clients and waits for them.
func (c *crowdOf) leave() {
	c.mu.Lock()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.mu.Unlock()
	c.wait.Wait()
}

func (c *crowdOf) longest() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.held) == 0 {
		return 0
	}
	return slices.Max(c.held)
}

// reserved reads what the program counts as held by requests.
func (p *program) reserved(t *testing.T) float64 {
	t.Helper()
	res, err := p.client.Get(p.admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		var n float64
		if rest, ok := strings.CutPrefix(lines.Text(), "nodegate_memory_reserved_bytes "); ok {
			if _, err := fmt.Sscan(rest, &n); err == nil {
				return n
			}
		}
	}
	t.Fatal("no nodegate_memory_reserved_bytes")
	return 0
}

// givenBack waits until nothing is reserved any more.
func (p *program) givenBack(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); p.reserved(t) != 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%.0f bytes stay reserved", p.reserved(t))
			return
		}
	}
}

// highest is the most memory that the process had while do ran.
func (p *program) highest(do func()) int64 {
	before := p.memory("VmRSS")
	return before + p.growth(do)
}

// answerSize makes a call and reads its answer.
func (p *program) answerSize(t *testing.T, key string, call []byte) int64 {
	t.Helper()
	res, err := p.client.Post(p.rpcBase+"/devnet/v3/"+key, "application/json", bytes.NewReader(call))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	n, _ := io.Copy(io.Discard, res.Body)
	return n
}
