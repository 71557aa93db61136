package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
)

// ask runs a script whose last line is an answer in JSON.
func ask[T any](t *testing.T, script string, input any) T {
	t.Helper()
	needNode(t)
	data, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), scriptTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", script)
	cmd.Dir, cmd.Stdin = scriptFolder(t, install(t)), bytes.NewReader(data)
	cmd.Env = append(os.Environ(), "NO_PROXY=127.0.0.1,localhost")
	var noise bytes.Buffer
	cmd.Stderr = &noise
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", script, err, out, &noise)
	}
	var answer T
	if err := json.Unmarshal([]byte(lastLine(string(out))), &answer); err != nil {
		t.Fatalf("%s: %v\n%s%s", script, err, out, &noise)
	}
	return answer
}
