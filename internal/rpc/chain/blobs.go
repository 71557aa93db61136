package chain

import (
	"context"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/txpool"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto/kzg4844"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/params"
)

// screenBlobs refuses a transaction with blobs that the pool would refuse after much work, in
// its words: go-ethereum computes the proofs of the new form for one that comes in the old form,
// half a second for each blob, and checks them on every core, before it looks at the sender's
// balance.
func screenBlobs(e *eth.Ethereum, tx *types.Transaction) error {
	if tx.BlobTxSidecar() == nil {
		return nil
	}
	if e.TxPool().Has(tx.Hash()) {
		return txpool.ErrAlreadyKnown
	}
	if err := checkForm(e.BlockChain(), tx); err != nil {
		return err
	}
	if err := canPay(e.BlockChain(), tx); err != nil {
		return err
	}
	if tx.BlobTxSidecar().Version == types.BlobSidecarVersion0 {
		return checkProofs(tx)
	}
	return nil
}

// The pool's bounds on a transaction with blobs, and the least tip that our nodes take.
const (
	maxBlobTx = 1 << 20
	minTip    = 1
)

// checkForm makes the pool's checks that need no state and no proofs: size, number of blobs,
// gas and fees. It makes them on the new form, which is what reaches the pool; the proofs are
// left empty, because nobody looks at them here.
func checkForm(bc *core.BlockChain, tx *types.Transaction) error {
	s := tx.BlobTxSidecar()
	if len(s.Blobs) != len(s.Commitments) {
		return fmt.Errorf("%w: %d blobs, %d commitments", txpool.ErrSidecarFormatError, len(s.Blobs), len(s.Commitments))
	}
	if s.Version == types.BlobSidecarVersion0 {
		empty := make([]kzg4844.Proof, len(s.Blobs)*kzg4844.CellProofsPerBlob)
		tx = tx.WithBlobTxSidecar(types.NewBlobTxSidecar(types.BlobSidecarVersion1, s.Blobs, s.Commitments, empty))
	}
	return txpool.ValidateTransaction(tx, bc.CurrentBlock(), types.LatestSigner(bc.Config()), &txpool.ValidationOptions{
		Config: bc.Config(), Accept: 1 << types.BlobTxType, MaxSize: maxBlobTx, MaxBlobCount: params.BlobTxMaxBlobs, MinTip: big.NewInt(minTip),
	})
}

// canPay makes two of the pool's checks, in its words: nonce and balance of the sender.
func canPay(bc *core.BlockChain, tx *types.Transaction) error {
	head := bc.CurrentBlock()
	from, err := types.Sender(types.MakeSigner(bc.Config(), head.Number, head.Time), tx)
	if err != nil {
		return fmt.Errorf("%w: %w", txpool.ErrInvalidSender, err)
	}
	state, err := bc.StateAt(head.Root, head.Number, head.Time)
	if err != nil {
		return err
	}
	if next := state.GetNonce(from); tx.Nonce() < next {
		return fmt.Errorf("%w: next nonce %v, tx nonce %v", core.ErrNonceTooLow, next, tx.Nonce())
	}
	balance, cost := state.GetBalance(from).ToBig(), tx.Cost()
	if balance.Cmp(cost) < 0 {
		return fmt.Errorf("%w: balance %v, tx cost %v, overshot %v", core.ErrInsufficientFunds, balance, cost, cost.Sub(cost, balance))
	}
	return nil
}

// wantsProofs tells whether go-ethereum would compute the proofs of the new form.
func wantsProofs(bc *core.BlockChain, tx *types.Transaction) bool {
	if tx == nil || tx.BlobTxSidecar() == nil || tx.BlobTxSidecar().Version != types.BlobSidecarVersion0 {
		return false
	}
	head := bc.CurrentBlock()
	return bc.Config().IsOsaka(head.Number, head.Time)
}

// withProofs computes the proofs of the new form, each blob in a seat of its own: half a
// second that nothing can interrupt.
func (s submitter) withProofs(ctx context.Context, tx *types.Transaction) (*types.Transaction, error) {
	old := tx.BlobTxSidecar()
	var proofs []kzg4844.Proof
	for i := range old.Blobs {
		if err := s.seat(ctx, func(context.Context) error {
			more, err := kzg4844.ComputeCellProofs(&old.Blobs[i])
			proofs = append(proofs, more...)
			return err
		}); err != nil {
			return nil, err
		}
	}
	return tx.WithBlobTxSidecar(types.NewBlobTxSidecar(types.BlobSidecarVersion1, old.Blobs, old.Commitments, proofs)), nil
}

// checkProofs verifies blobs of the old form, which go-ethereum would not.
func checkProofs(tx *types.Transaction) error {
	s := tx.BlobTxSidecar()
	if len(s.Blobs) != len(s.Commitments) || len(s.Blobs) != len(s.Proofs) {
		return fmt.Errorf("%w: %d blobs, %d commitments, %d proofs", txpool.ErrSidecarFormatError, len(s.Blobs), len(s.Commitments), len(s.Proofs))
	}
	if err := s.ValidateBlobCommitmentHashes(tx.BlobHashes()); err != nil {
		return err
	}
	for i := range s.Blobs {
		if err := kzg4844.VerifyBlobProof(&s.Blobs[i], s.Commitments[i], s.Proofs[i]); err != nil {
			return fmt.Errorf("%w: %w", txpool.ErrKZGVerificationError, err)
		}
	}
	return nil
}
