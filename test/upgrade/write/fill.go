package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/big"
	"mime/multipart"
	"net/http"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/nodegate/nodegate/test/upgrade"
)

// devKey is the first account of the development mnemonic.
const devKey = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"

func (s *server) fill() error {
	for _, do := range []func() error{s.accounts, s.transactions, s.files, s.heads} {
		if err := do(); err != nil {
			return err
		}
	}
	out, err := s.tool("", "version")
	s.manifest.Build = strings.TrimSpace(strings.SplitN(string(out), "\n", 2)[0])
	return err
}

// accounts creates a second account with a password and three keys, one of them revoked.
func (s *server) accounts() error {
	other := upgrade.Account{Email: "other@example.com", Password: "correct horse battery"}
	if _, err := s.tool(other.Password+"\n", "account", "create", other.Email, "--password-stdin"); err != nil {
		return err
	}
	for i := range 3 {
		out, err := s.tool("", "key", "create", "--account", other.Email, "--json")
		var k struct {
			ID     string `json:"id"`
			Value  string `json:"api_key"`
			Secret string `json:"api_key_secret"`
		}
		if err == nil {
			err = json.Unmarshal(out, &k)
		}
		if err == nil && i == 2 {
			_, err = s.tool("", "key", "revoke", "--account", other.Email, k.ID)
		}
		if err != nil {
			return err
		}
		other.Keys = append(other.Keys, upgrade.Key{ID: k.ID, Value: k.Value, Secret: k.Secret, Revoked: i == 2})
	}
	s.manifest.Other = other
	return nil
}

// transactions sends some on both networks and waits until each is mined.
func (s *server) transactions() error {
	for network, chainID := range map[string]int64{"devnet": 1337, "rollup": 1338} {
		to := common.HexToAddress("0x00000000000000000000000000000000000f1c50")
		for range 5 {
			if err := s.send(network, chainID, to); err != nil {
				return err
			}
		}
		b := upgrade.Balance{Network: network, Address: strings.ToLower(to.Hex())}
		if err := s.call(network, &b.Wei, "eth_getBalance", b.Address, "latest"); err != nil {
			return err
		}
		s.manifest.Balances = append(s.manifest.Balances, b)
	}
	return nil
}

func (s *server) send(network string, chainID int64, to common.Address) error {
	key, err := crypto.HexToECDSA(devKey)
	if err != nil {
		return err
	}
	var nonce hexutil.Uint64
	if err := s.call(network, &nonce, "eth_getTransactionCount", crypto.PubkeyToAddress(key.PublicKey), "pending"); err != nil {
		return err
	}
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(big.NewInt(chainID)), &types.DynamicFeeTx{
		ChainID: big.NewInt(chainID), Nonce: uint64(nonce), GasTipCap: big.NewInt(1e9), GasFeeCap: big.NewInt(1e11), Gas: 21000, To: &to, Value: big.NewInt(12345),
	})
	if err != nil {
		return err
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return err
	}
	sent := upgrade.Sent{Network: network}
	if err := s.call(network, &sent.Hash, "eth_sendRawTransaction", hexutil.Encode(raw)); err != nil {
		return err
	}
	for range 200 {
		var receipt *struct{ BlockHash string }
		if err := s.call(network, &receipt, "eth_getTransactionReceipt", sent.Hash); err != nil {
			return err
		}
		if receipt != nil {
			sent.Block = receipt.BlockHash
			s.manifest.Sent = append(s.manifest.Sent, sent)
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("%s is not mined", sent.Hash)
}

// files adds small and large ones; a large one has several blocks.
func (s *server) files() error {
	for i, content := range []string{"hello\n", strings.Repeat("nodegate ", 100), strings.Repeat("a file of several blocks, ", 20_000)} {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		part, _ := w.CreateFormFile("file", fmt.Sprintf("file%d.txt", i))
		_, _ = part.Write([]byte(content))
		_ = w.Close()
		req, err := http.NewRequest(http.MethodPost, s.storage+"/add", &b)
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", w.FormDataContentType())
		k := s.manifest.Account.Keys[0]
		req.SetBasicAuth(k.Value, k.Secret)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		var added struct{ Hash string }
		err = json.NewDecoder(res.Body).Decode(&added)
		_ = res.Body.Close()
		if err != nil || added.Hash == "" {
			return fmt.Errorf("add: %d %w", res.StatusCode, err)
		}
		s.manifest.Stored = append(s.manifest.Stored, upgrade.Stored{CID: added.Hash, SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(content)))})
	}
	return nil
}

func (s *server) heads() error {
	for _, network := range []string{"devnet", "rollup"} {
		var b struct{ Number, Hash string }
		if err := s.call(network, &b, "eth_getBlockByNumber", "latest", false); err != nil {
			return err
		}
		s.manifest.Heads = append(s.manifest.Heads, upgrade.Head{Network: network, Number: b.Number, Hash: b.Hash})
	}
	return nil
}
