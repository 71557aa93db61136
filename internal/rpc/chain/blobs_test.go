package chain

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/crypto/kzg4844"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/test/full"
)

// TestBlobsAreRefused: go-ethereum would compute their proofs, which nothing can stop. What
// has no blobs is filled in as go-ethereum does.
func TestBlobsAreRefused(t *testing.T) {
	n := openDevnet(t)
	blob := `"0x` + strings.Repeat("00", 131072) + `"`
	tx := func(more string) string {
		return fmt.Sprintf(`[{"from":"%s","to":"%s",%s}]`, lower(devchain.Accounts()[0].Address), anyone, more)
	}
	for _, name := range []string{"eth_fillTransaction", "eth_sendTransaction"} {
		for _, more := range []string{`"blobs":[` + blob + `]`, `"Blobs":[` + blob + `]`, `"blobs":[` + blob + `,` + blob + `],"commitments":[],"proofs":[]`} {
			_, err := n.Call(t.Context(), name, []byte(tx(more)))
			if e := wantCode(t, err, nodegate.InvalidParams); !strings.Contains(e.Msg, "compute commitments and proofs in the client") || !strings.Contains(e.Msg, "eth_sendRawTransaction") {
				t.Errorf("%s %.40s: %s", name, more, e.Msg)
			}
		}
	}
	for _, more := range []string{`"blobs":null`, `"value":"0x1"`, `"blobVersionedHashes":["0x01` + strings.Repeat("00", 31) + `"]`, `"blobVersionedHashes":[]`} {
		r := request{"eth_fillTransaction", tx(more)}
		want, wantErr := n.unguarded(r)
		got, err := n.Call(t.Context(), r.method, []byte(r.params))
		if outcomeOf(got, err) != outcomeOf(want, wantErr) {
			t.Errorf("%s: %s, want %s", more, outcomeOf(got, err), outcomeOf(want, wantErr))
		}
	}
}

// zeroBlobs is a transaction with blobs of zeros in the old form, with proofs that are right.
func zeroBlobs(n *Node, blobs int) *types.Transaction {
	config := n.engine.eth.BlockChain().Config()
	zero := kzg4844.Commitment{0xc0} // its proof is the same point
	sidecar := types.NewBlobTxSidecar(types.BlobSidecarVersion0, make([]kzg4844.Blob, blobs),
		slices.Repeat([]kzg4844.Commitment{zero}, blobs), slices.Repeat([]kzg4844.Proof{kzg4844.Proof(zero)}, blobs))
	return types.MustSignNewTx(devchain.Accounts()[0].PrivateKey, types.LatestSigner(config), &types.BlobTx{
		ChainID: uint256.MustFromBig(config.ChainID), Gas: 21_000, Sidecar: sidecar,
		GasTipCap: uint256.NewInt(params.GWei), GasFeeCap: uint256.NewInt(100 * params.GWei), BlobFeeCap: uint256.NewInt(params.GWei),
		BlobHashes: slices.Repeat([]common.Hash{kzg4844.CalcBlobHashV1(sha256.New(), &zero)}, blobs),
	})
}

// TestBlobsAreScreened: what the pool would refuse is refused before go-ethereum computes half a
// second for it. It would complain about the proof of the first two, and accept the third: the
// proofs that it computes itself are right.
func TestBlobsAreScreened(t *testing.T) {
	full.Slow(t)
	n := openDevnet(t)
	chainID := n.engine.eth.BlockChain().Config().ChainID
	funded := devchain.Accounts()[0].PrivateKey
	stranger, err := crypto.GenerateKey()
	mustDo(t, err)
	zero := kzg4844.Commitment{0xc0} // of the blob of zeros: its proof is the same point
	wrong := kzg4844.Proof(common.FromHex("0x97f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb"))
	blob := func(version byte, nonce uint64, proofs []kzg4844.Proof) *types.BlobTx {
		s := types.NewBlobTxSidecar(version, []kzg4844.Blob{{}}, []kzg4844.Commitment{zero}, proofs)
		return &types.BlobTx{
			ChainID: uint256.MustFromBig(chainID), Nonce: nonce, Gas: 21_000, Sidecar: s,
			GasTipCap: uint256.NewInt(params.GWei), GasFeeCap: uint256.NewInt(100 * params.GWei), BlobFeeCap: uint256.NewInt(params.GWei),
			BlobHashes: []common.Hash{kzg4844.CalcBlobHashV1(sha256.New(), &zero)},
		}
	}
	cells := make([]kzg4844.Proof, kzg4844.CellProofsPerBlob)
	for i := range cells {
		cells[i] = wrong
	}
	signer := types.LatestSignerForChainID(chainID)
	six := blob(0, 0, make([]kzg4844.Proof, 6))
	six.Sidecar.Blobs, six.Sidecar.Commitments = make([]kzg4844.Blob, 6), slices.Repeat(six.Sidecar.Commitments, 6)
	six.BlobHashes = slices.Repeat(six.BlobHashes, 6)
	many := func(n int) *types.BlobTx { // with proofs that are right
		tx := blob(0, 0, slices.Repeat([]kzg4844.Proof{kzg4844.Proof(zero)}, n))
		tx.Sidecar.Blobs, tx.Sidecar.Commitments, tx.BlobHashes = make([]kzg4844.Blob, n), slices.Repeat(tx.Sidecar.Commitments, n), slices.Repeat(tx.BlobHashes, n)
		return tx
	}
	cheap, gasless, free := many(6), many(6), many(6)
	cheap.GasTipCap, gasless.Gas, free.BlobFeeCap = uint256.NewInt(0), 20_999, uint256.NewInt(0)
	for _, c := range []struct {
		tx   *types.Transaction
		want string
	}{
		{types.MustSignNewTx(stranger, signer, six), "insufficient funds"},
		{types.MustSignNewTx(stranger, signer, blob(1, 0, cells)), "insufficient funds"},
		{types.MustSignNewTx(stranger, signer, blob(0, 0, []kzg4844.Proof{wrong})), "insufficient funds"},
		{types.MustSignNewTx(funded, signer, blob(0, 0, []kzg4844.Proof{wrong})), "KZG verification error"},
		{types.MustSignNewTx(funded, signer, blob(0, 0, nil)), "0 proofs"},
		{types.MustSignNewTx(funded, signer, many(7)), "blob count 7, limit 6"},
		{types.MustSignNewTx(funded, signer, many(19)), "oversized data"},
		{types.MustSignNewTx(funded, signer, cheap), "gas tip cap 0, minimum needed 1"},
		{types.MustSignNewTx(funded, signer, gasless), "intrinsic gas too low"},
		{types.MustSignNewTx(funded, signer, free), "blob fee cap 0, minimum needed 1"},
	} {
		if err := screenBlobs(n.engine.eth, c.tx); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("the screen says %v, want %s", err, c.want)
		}
		for _, name := range []string{sendMethod, "eth_sendRawTransactionSync"} {
			if _, err := n.Call(t.Context(), name, rawParams(c.tx)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", name, err, c.want)
			}
		}
	}
	valid := types.MustSignNewTx(funded, signer, blob(0, 0, []kzg4844.Proof{kzg4844.Proof(zero)}))
	for range 2 { // known the second time
		if got := call(t, n, sendMethod, string(rawParams(valid))); got != `"`+valid.Hash().Hex()+`"` {
			t.Errorf("a valid one: %s", got)
		}
	}
}

// TestBlobsShareSeats: the proofs of each blob take a seat of their own, so that accounts take
// turns between blobs, and what is kept in the journal has the proofs.
func TestBlobsShareSeats(t *testing.T) {
	full.Slow(t)
	n := openDevnet(t)
	seats := 0
	s := submitter{n: n, seat: func(ctx context.Context, work func(context.Context) error) error {
		seats++
		return work(ctx)
	}}
	tx := zeroBlobs(n, 2)
	got, raw, result, err := s.submit(t.Context(), rawParams(tx))
	mustDo(t, err)
	if string(result) != `"`+tx.Hash().Hex()+`"` || got.Hash() != tx.Hash() {
		t.Errorf("%s", result)
	}
	if seats != 4 { // read and screened, two blobs, handed over
		t.Errorf("%d seats", seats)
	}
	var kept types.Transaction
	mustDo(t, kept.UnmarshalBinary(raw))
	if sidecar := kept.BlobTxSidecar(); sidecar.Version != types.BlobSidecarVersion1 || len(sidecar.Proofs) != 2*kzg4844.CellProofsPerBlob {
		t.Errorf("version %d with %d proofs is kept", sidecar.Version, len(sidecar.Proofs))
	}
}

// TestAwaitLooksRarely: a transaction that isn't mined costs few looks, however long it is
// waited for.
func TestAwaitLooksRarely(t *testing.T) {
	looks, waited := 0, time.Duration(0)
	for pause := firstPause; waited < time.Minute; pause = longer(pause) {
		looks++
		waited += pause
	}
	if looks > 300 {
		t.Errorf("%d looks in a minute", looks)
	}
}
