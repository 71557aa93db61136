package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/nodegate/nodegate/internal/method"
)

// demoAddress has ether on the embedded networks; on others it is an account like any.
const demoAddress = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"

// demoRequests are what is sent, one after another: lookups, calls, a log query, a batch, and
// mistakes, so that the plots of failures have something too.
func demoRequests() []string {
	call := map[string]string{"from": demoAddress, "to": demoAddress, "value": "0x1"}
	list := []string{
		rpcRequest(method.EthBlockNumber),
		rpcRequest(method.EthChainID),
		rpcRequest(method.EthGetBalance, demoAddress, "latest"),
		rpcRequest(method.EthGetBlockByNumber, "latest", false),
		rpcRequest(method.EthGetTransactionCount, demoAddress, "latest"),
		rpcRequest(method.EthCall, call, "latest"),
		rpcRequest(method.EthEstimateGas, call),
		rpcRequest(method.EthGetBlockByNumber, "latest", true),
		rpcRequest(method.EthGetCode, demoAddress, "latest"),
		rpcRequest(method.EthGetLogs, map[string]string{"fromBlock": "latest", "toBlock": "latest"}),
		rpcRequest(method.EthFeeHistory, "0x4", "latest", []int{50}),
		rpcRequest(method.EthGetBalance, demoAddress, "latest"),
	}
	batch := "[" + strings.Join(list[:4], ",") + "]"
	return append(list, batch,
		rpcRequest(method.EthGetBalance, "not an address", "latest"),
		rpcRequest("demo_unknown"),
	)
}

func rpcRequest(name string, params ...any) string {
	if params == nil {
		params = []any{}
	}
	text, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": name, "params": params}) // strings and numbers only
	return string(text)
}

// demoClient trusts the server's own certificate: on this machine the server is not reached
// by the name that the certificate is for.
func demoClient(certificate string) (*http.Client, error) {
	if certificate == "" {
		return http.DefaultClient, nil
	}
	text, err := os.ReadFile(certificate)
	if err != nil {
		return nil, err
	}
	trusted := &tls.Config{RootCAs: x509.NewCertPool()}
	trusted.RootCAs.AppendCertsFromPEM(text)
	if block, _ := pem.Decode(text); block != nil {
		if own, err := x509.ParseCertificate(block.Bytes); err == nil && len(own.DNSNames) > 0 {
			trusted.ServerName = strings.Replace(own.DNSNames[0], "*", "demo", 1)
		}
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: trusted}}, nil
}

// maxDemoAnswer bounds what is read of a response.
const maxDemoAnswer = 8 << 20

func (d *demo) post(ctx context.Context, network, body string) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.base+"/"+network+"/v3/"+d.key, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := d.client.Do(req)
	if err != nil {
		return 0, nil, hideURL(err)
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(res.Body, maxDemoAnswer))
	return res.StatusCode, answer, err
}

// send makes one request and counts what came of it.
func (d *demo) send(ctx context.Context, network, body string) error {
	status, answer, err := d.post(ctx, network, body)
	if err != nil {
		return err
	}
	switch {
	case status == http.StatusTooManyRequests:
		d.counts["refused by a limit"]++
	case status != http.StatusOK || bytes.Contains(answer, []byte(`"error":`)):
		d.counts["with an error"]++
	default:
		d.counts["ok"]++
	}
	return nil
}

// hideURL keeps the key, which is in the URL, out of the error.
func hideURL(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return fmt.Errorf("can't reach the server: %w", of.Err)
	}
	return err
}
