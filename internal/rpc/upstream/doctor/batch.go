package doctor

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
)

// maxBatchAnswer is far more than two small answers need.
const maxBatchAnswer = 64 << 10

const batchBody = `[{"jsonrpc":"2.0","id":1,"method":"` + method.EthChainID + `","params":[]},{"jsonrpc":"2.0","id":2,"method":"` + method.EthBlockNumber + `","params":[]}]`

// takesBatch sends two calls in one request. The service itself never does, so this
// has a client of its own, over connections like the service's; it follows no redirect either.
func takesBatch(ctx context.Context, node *Node) bool {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, node.URL, strings.NewReader(batchBody))
	if err != nil {
		return false
	}
	for name, value := range node.Headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/json")
	transport, err := client.HTTPTransport(node.over(node.URL))
	if err != nil {
		return false
	}
	defer transport.CloseIdleConnections()
	once := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := once.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	var answers []struct{ Result string }
	err = json.NewDecoder(io.LimitReader(res.Body, maxBatchAnswer)).Decode(&answers)
	return err == nil && res.StatusCode == http.StatusOK && len(answers) == 2 && answers[0].Result != "" && answers[1].Result != ""
}

// member is a text of a JSON object, or "".
func member(object []byte, name string) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil {
		return ""
	}
	return text(fields[name])
}
