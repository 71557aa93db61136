package chain

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/log"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// roleVariable makes a copy of the test binary play a part that must not be
// played in the test's own process: to be killed, or to end itself.
const roleVariable = "NODEGATE_TEST_ROLE"

// folderVariable is the data folder of a role.
const folderVariable = "NODEGATE_TEST_FOLDER"

func TestMain(m *testing.M) {
	switch dir := os.Getenv(folderVariable); os.Getenv(roleVariable) {
	case "":
		code := m.Run()
		closeKept()
		os.Exit(code)
	case "open":
		roleOpen(dir)
	case "stay":
		roleStay(dir)
	case "develop":
		roleDevelop(dir)
	case "write":
		roleWrite(dir)
	case "send":
		roleSend(dir)
	case "mine":
		roleMine(dir)
	case "critical":
		RouteLogs(slog.New(slog.DiscardHandler))
		log.Crit("no more disk", "err", "full")
	}
}

// child starts this binary in a role.
func child(t *testing.T, role, dir string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), roleVariable+"="+role, folderVariable+"="+dir)
	return cmd
}

// roleOpen opens the folder as the server would and says what it found. Exit code 2
// is that of unusable data, from here or from inside go-ethereum.
func roleOpen(dir string) {
	RouteLogs(slog.New(slog.NewTextHandler(io.Discard, nil)))
	n, err := Open(presetConfig(devchain.Devnet(), dir))
	if err != nil {
		fmt.Println(err)
		if errors.Is(err, nodegate.BadConfig) {
			os.Exit(exitUnusable)
		}
		os.Exit(1)
	}
	result, err := readAll(n)
	fmt.Println("opened", result, err)
	if err := n.Close(); err != nil {
		fmt.Println("close:", err)
	}
}

// readAll touches every block, receipt and the newest state.
func readAll(n *Node) (string, error) {
	h, _ := n.Head(context.Background())
	for i := uint64(0); i <= h.Number; i++ {
		ref := fmt.Sprintf(`["%#x"]`, i)
		if r, err := n.Call(context.Background(), "eth_getBlockReceipts", []byte(ref)); err != nil || string(r) == "null" {
			return "", fmt.Errorf("receipts of block %d: %s, %w", i, r, err)
		}
	}
	for _, a := range fixedAddresses() {
		if _, err := n.Call(context.Background(), "eth_getProof", []byte(`["`+lower(a)+`",["0x0"],"latest"]`)); err != nil {
			return "", err
		}
	}
	return fmt.Sprint("head ", h.Number), nil
}

// outcomeOfChild runs a role to its end, which must come by itself.
func outcomeOfChild(t *testing.T, cmd *exec.Cmd) (output string, code int) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(60*time.Second, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	if !timer.Stop() {
		t.Fatalf("it hung; it said\n%s", out.String())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// linesOf reads what a role prints until it is killed. The last line may be cut
// off and then never said anything.
func linesOf(r io.Reader, use func(string)) {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		use(line[:len(line)-1])
	}
}
